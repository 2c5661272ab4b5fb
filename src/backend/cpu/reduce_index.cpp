// argmax, top_k, and gradients of reductions that choose: output by output, in order.
#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/reduce_layout.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 32768;

std::int64_t grain(std::int64_t elements_each) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, elements_each));
}

/// NaN before all, then the larger.
template <typename T>
bool before(T a, T b) {
  return a > b || (a != a && b == b);
}

void run_argmax(const KernelContext& k) {
  const Shape& shape = k.in(0).shape();
  const auto axis = static_cast<int>(k.attributes.integer("axis"));
  const std::int64_t length = shape[axis];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  with_number(k.in(0).dtype(), [&]<typename T>() {
    parallel_for(k.out(0).elements(), grain(length), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o) {
        const T* x = k.in(0).as<const T>() + o / inner * length * inner + o % inner;
        std::int64_t best = 0;
        auto largest = static_cast<Acc<T>>(x[0]);
        for (std::int64_t i = 1; i < length; ++i) {
          const auto value = static_cast<Acc<T>>(x[i * inner]);
          if (!before(value, largest)) continue;
          largest = value;
          best = i;
        }
        k.out(0).as<std::int64_t>()[o] = best;
      }
    });
  });
}

template <typename T>
void top_of_row(const T* x, std::int64_t size, std::int64_t k, T* values, std::int64_t* indices) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto value = static_cast<Acc<T>>(x[i]);
    if (found == k && !before(value, static_cast<Acc<T>>(values[k - 1]))) continue;
    // Behind all that are not smaller, so that equal ones stay in order.
    const T* place = std::upper_bound(values, values + found, value, [](Acc<T> v, const T& other) {
      return before(v, static_cast<Acc<T>>(other));
    });
    const std::int64_t at = place - values;
    if (found < k) ++found;
    std::copy_backward(values + at, values + found - 1, values + found);
    std::copy_backward(indices + at, indices + found - 1, indices + found);
    values[at] = x[i];
    indices[at] = i;
  }
}

void run_top_k(const KernelContext& k) {
  const std::int64_t count = k.attributes.integer("k");
  const std::int64_t size = k.in(0).shape().dim(-1);
  if (count == 0) return;
  with_number(k.in(0).dtype(), [&]<typename T>() {
    parallel_for(
        k.out(0).elements() / count, grain(size), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t row = first; row < last; ++row) {
            top_of_row(k.in(0).as<const T>() + row * size, size, count,
                       k.out(0).as<T>() + row * count, k.out(1).as<std::int64_t>() + row * count);
          }
        });
  });
}

void run_top_k_grad(const KernelContext& k) {
  const std::int64_t size = k.attributes.integer("size");
  const std::int64_t count = k.in(0).shape().dim(-1);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    parallel_for(k.out(0).elements() / size, grain(size),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t row = first; row < last; ++row) {
                     T* to = k.out(0).as<T>() + row * size;
                     std::fill_n(to, size, T{});
                     for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
                       to[k.in(1).as<const std::int64_t>()[i]] = k.in(0).as<const T>()[i];
                     }
                   }
                 });
  });
}

/// Calls body(output, position of element i of those reduced) for every output, in threads.
template <typename Body>
void for_outputs(const KernelContext& k, Body body) {
  const ReduceLayout layout(k.in(1).shape(), k.attributes.integers("axes"));
  const std::int64_t outputs = k.in(0).elements();
  const std::int64_t count = k.in(1).elements() / outputs;
  parallel_for(outputs, grain(count), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t o = first; o < last; ++o) {
      if (layout.inner_reduced) {
        const std::int64_t base = layout.kept[o];
        body(o, count, [&](std::int64_t i) {
          return base + layout.reduced[i / layout.inner] + i % layout.inner;
        });
      } else {
        const std::int64_t base = layout.kept[o / layout.inner] + o % layout.inner;
        body(o, count, [&](std::int64_t i) { return base + layout.reduced[i]; });
      }
    }
  });
}

void run_extreme_grad(const KernelContext& k) {
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* x = k.in(1).as<const T>();
    T* dx = k.out(0).as<T>();
    for_outputs(k, [&](std::int64_t o, std::int64_t count, auto position) {
      const auto y = static_cast<Acc<T>>(k.in(2).as<const T>()[o]);
      const auto is_chosen = [&](std::int64_t at) {
        const auto value = static_cast<Acc<T>>(x[at]);
        return value == y || value != value;
      };
      std::int64_t chosen = 0;
      for (std::int64_t i = 0; i < count; ++i) chosen += is_chosen(position(i)) ? 1 : 0;
      const T share = static_cast<T>(static_cast<Acc<T>>(k.in(0).as<const T>()[o]) /
                                     static_cast<Acc<T>>(chosen));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = position(i);
        dx[at] = is_chosen(at) ? share : T{};
      }
    });
  });
}

void run_prod_grad(const KernelContext& k) {
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* x = k.in(1).as<const T>();
    T* dx = k.out(0).as<T>();
    for_outputs(k, [&](std::int64_t o, std::int64_t count, auto position) {
      // A zero makes the product of all others matter, two of them none.
      double product = 1;
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(static_cast<Acc<T>>(x[position(i)]));
        value == 0 ? static_cast<void>(++zeros) : static_cast<void>(product *= value);
      }
      product *= static_cast<double>(static_cast<Acc<T>>(k.in(0).as<const T>()[o]));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = position(i);
        const auto value = static_cast<double>(static_cast<Acc<T>>(x[at]));
        double gradient = 0;
        if (zeros == 0) gradient = product / value;
        if (zeros == 1 && value == 0) gradient = product;
        dx[at] = static_cast<T>(static_cast<Acc<T>>(gradient));
      }
    });
  });
}

void add_kernels(KernelTable& table) {
  table.add("argmax", {run_argmax});
  table.add("top_k", {run_top_k});
  table.add("top_k_grad", {run_top_k_grad});
  table.add("extreme_grad", {run_extreme_grad});
  table.add("prod_grad", {run_prod_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
