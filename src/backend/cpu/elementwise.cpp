#include <array>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 32768;

/// out = f(a, b), broadcast.
template <typename T, typename F>
void binary(const KernelContext& k, F f) {
  const TensorView& out = k.out(0);
  const Shape& shape = out.shape();
  std::array<std::array<std::int64_t, kMaxRank>, 2> strides{};
  for (int input = 0; input < 2; ++input) {
    const Shape& from = k.in(input).shape();
    const auto dense = from.contiguous_strides();
    const int extra = shape.rank() - from.rank();
    for (int i = 0; i < from.rank(); ++i) {
      strides[static_cast<std::size_t>(input)][static_cast<std::size_t>(i + extra)] =
          from[i] == 1 ? 0 : dense[static_cast<std::size_t>(i)];
    }
  }
  const T* a = k.in(0).as<const T>();
  const T* b = k.in(1).as<const T>();
  T* to = out.as<T>();
  parallel_for(out.elements(), kGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; ++at) {
      std::int64_t rest = at;
      std::int64_t ia = 0;
      std::int64_t ib = 0;
      for (int i = shape.rank() - 1; i >= 0; --i) {
        const std::int64_t index = rest % shape[i];
        rest /= shape[i];
        ia += index * strides[0][static_cast<std::size_t>(i)];
        ib += index * strides[1][static_cast<std::size_t>(i)];
      }
      to[at] = static_cast<T>(f(static_cast<Acc<T>>(a[ia]), static_cast<Acc<T>>(b[ib])));
    }
  });
}

template <typename T, typename F>
void unary(const KernelContext& k, F f) {
  const T* from = k.in(0).as<const T>();
  T* to = k.out(0).as<T>();
  parallel_for(k.out(0).elements(), kGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      to[i] = static_cast<T>(f(static_cast<Acc<T>>(from[i])));
    }
  });
}

template <typename F>
void number_binary(const KernelContext& k, F f) {
  with_number(k.out(0).dtype(), [&]<typename T>() { binary<T>(k, f); });
}
template <typename F>
void number_unary(const KernelContext& k, F f) {
  with_number(k.out(0).dtype(), [&]<typename T>() { unary<T>(k, f); });
}

void run_cast(const KernelContext& k) {
  with_any(k.in(0).dtype(), [&]<typename From>() {
    with_any(k.out(0).dtype(), [&]<typename To>() {
      const From* from = k.in(0).as<const From>();
      To* to = k.out(0).as<To>();
      parallel_for(k.out(0).elements(), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          to[i] = static_cast<To>(static_cast<Acc<To>>(static_cast<Acc<From>>(from[i])));
        }
      });
    });
  });
}

}  // namespace

void add_elementwise_kernels(KernelTable& table) {
  table.add("add", {[](const KernelContext& k) {
              number_binary(k, [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
            }});
  table.add("sub", {[](const KernelContext& k) {
              number_binary(k, [](auto a, auto b) { return static_cast<decltype(a)>(a - b); });
            }});
  table.add("mul", {[](const KernelContext& k) {
              number_binary(k, [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
            }});
  table.add("relu_grad", {[](const KernelContext& k) {
              with_float(k.out(0).dtype(), [&]<typename T>() {
                binary<T>(k, [](auto dy, auto y) { return y > 0 ? dy : decltype(dy)(0); });
              });
            }});
  table.add("neg", {[](const KernelContext& k) {
              number_unary(k, [](auto x) { return static_cast<decltype(x)>(-x); });
            }});
  table.add("square", {[](const KernelContext& k) {
              number_unary(k, [](auto x) { return static_cast<decltype(x)>(x * x); });
            }});
  table.add("relu", {[](const KernelContext& k) {
              with_float(k.out(0).dtype(), [&]<typename T>() {
                unary<T>(k, [](auto x) { return x > 0 ? x : decltype(x)(0); });
              });
            }});
  table.add("scale", {[](const KernelContext& k) {
              const double factor = k.attributes.number("factor");
              number_unary(k, [factor](auto x) { return x * static_cast<decltype(x)>(factor); });
            }});
  table.add("stop_gradient", {[](const KernelContext&) {}});
  table.add("cast", {run_cast});
}

}  // namespace plimsoll::cpu
