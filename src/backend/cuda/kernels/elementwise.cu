// Arithmetic: floats and integers.
#include <plimsoll/ops/element.h>

#include "backend/cuda/kernels/element.cuh"
#include "backend/cuda/kernels/elementwise.cuh"

namespace plimsoll::cuda {
namespace {

enum class Unary : std::uint8_t { neg, abs, sign, square, scale, shift, clip };
enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  abs_grad,
  square_grad,
  clip_grad,
};
enum class Ternary : std::uint8_t { div_grad, maximum_grad, minimum_grad };

template <typename T>
struct UnaryBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 1;
  Unary op;
  A first;
  A second;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[1][E], A (&y)[E]) const {
    const A(&x)[E] = in[0];
    switch (op) {
      case Unary::neg:
        return each(y, [&](int i) { return element::neg(x[i]); });
      case Unary::abs:
        return each(y, [&](int i) { return element::abs(x[i]); });
      case Unary::sign:
        return each(y, [&](int i) { return element::sign(x[i]); });
      case Unary::square:
        return each(y, [&](int i) { return element::square(x[i]); });
      case Unary::scale:
        return each(y, [&](int i) { return element::scale(x[i], first); });
      case Unary::shift:
        return each(y, [&](int i) { return element::shift(x[i], first); });
      case Unary::clip:
        return each(y, [&](int i) { return element::clip(x[i], first, second); });
    }
  }
};

template <typename T>
struct BinaryBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 2;
  Binary op;
  A first;
  A second;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[2][E], A (&y)[E]) const {
    const A(&a)[E] = in[0];
    const A(&b)[E] = in[1];
    switch (op) {
      case Binary::add:
        return each(y, [&](int i) { return element::add(a[i], b[i]); });
      case Binary::sub:
        return each(y, [&](int i) { return element::sub(a[i], b[i]); });
      case Binary::mul:
        return each(y, [&](int i) { return element::mul(a[i], b[i]); });
      case Binary::div:
        return each(y, [&](int i) { return element::div(a[i], b[i]); });
      case Binary::maximum:
        return each(y, [&](int i) { return element::maximum(a[i], b[i]); });
      case Binary::minimum:
        return each(y, [&](int i) { return element::minimum(a[i], b[i]); });
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<A>) {
      // dy and x
      switch (op) {
        case Binary::abs_grad:
          return each(y, [&](int i) { return element::abs_grad(a[i], b[i]); });
        case Binary::square_grad:
          return each(y, [&](int i) { return element::square_grad(a[i], b[i]); });
        case Binary::clip_grad:
          return each(y, [&](int i) { return element::clip_grad(a[i], b[i], first, second); });
        default:
          break;
      }
    }
  }
};

template <typename T>
struct TernaryBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 3;
  Ternary op;
  bool second;  ///< the gradient of the second input

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[3][E], A (&y)[E]) const {
    const A(&dy)[E] = in[0];
    const A(&a)[E] = in[1];
    const A(&b)[E] = in[2];
    switch (op) {
      case Ternary::div_grad:
        return each(y, [&](int i) { return element::div_grad(dy[i], a[i], b[i]); });
      case Ternary::maximum_grad:
        return each(y, [&](int i) {
          return second ? element::maximum_grad<true>(dy[i], a[i], b[i])
                        : element::maximum_grad<false>(dy[i], a[i], b[i]);
        });
      case Ternary::minimum_grad:
        return each(y, [&](int i) {
          return second ? element::minimum_grad<true>(dy[i], a[i], b[i])
                        : element::minimum_grad<false>(dy[i], a[i], b[i]);
        });
    }
  }
};

void run_unary(const KernelContext& k, Unary op, double first = 0, double second = 0) {
  with_number(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const auto number = [&](double value) -> A {
      if constexpr (std::is_integral_v<T>) {
        return op == Unary::clip ? ops::nearest_integer<T>(value) : ops::wrapped<T>(value);
      } else {
        return static_cast<A>(value);
      }
    };
    run_elementwise(k, UnaryBody<T>{op, number(first), number(second)}, "unary");
  });
}
void run_binary(const KernelContext& k, Binary op) {
  with_number(k.in(0).dtype(), [&]<typename T>() {
    run_elementwise(k, BinaryBody<T>{op, {}, {}}, "binary");
  });
}
void run_clip_grad(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    run_elementwise(k,
                    BinaryBody<T>{Binary::clip_grad, static_cast<A>(k.attributes.number("low")),
                                  static_cast<A>(k.attributes.number("high"))},
                    "clip_grad");
  });
}
void run_ternary(const KernelContext& k, Ternary op, bool second = false) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    run_elementwise(k, TernaryBody<T>{op, second}, "ternary");
  });
}

template <Unary Op>
ops::Kernel unary() {
  return {[](const KernelContext& k) { run_unary(k, Op); }};
}
template <Binary Op>
ops::Kernel binary() {
  return {[](const KernelContext& k) { run_binary(k, Op); }};
}

void add_kernels(KernelTable& table) {
  table.add("add", binary<Binary::add>());
  table.add("sub", binary<Binary::sub>());
  table.add("mul", binary<Binary::mul>());
  table.add("div", binary<Binary::div>());
  table.add("maximum", binary<Binary::maximum>());
  table.add("minimum", binary<Binary::minimum>());
  table.add("abs_grad", binary<Binary::abs_grad>());
  table.add("square_grad", binary<Binary::square_grad>());
  table.add("clip_grad", {run_clip_grad});
  table.add("div_grad", {[](const KernelContext& k) { run_ternary(k, Ternary::div_grad); }});
  table.add("maximum_grad", {[](const KernelContext& k) {
              run_ternary(k, Ternary::maximum_grad, k.attributes.flag("second"));
            }});
  table.add("minimum_grad", {[](const KernelContext& k) {
              run_ternary(k, Ternary::minimum_grad, k.attributes.flag("second"));
            }});
  table.add("neg", unary<Unary::neg>());
  table.add("abs", unary<Unary::abs>());
  table.add("sign", unary<Unary::sign>());
  table.add("square", unary<Unary::square>());
  table.add("scale", {[](const KernelContext& k) {
              run_unary(k, Unary::scale, k.attributes.number("factor"));
            }});
  table.add("shift", {[](const KernelContext& k) {
              run_unary(k, Unary::shift, k.attributes.number("offset"));
            }});
  table.add("clip", {[](const KernelContext& k) {
              run_unary(k, Unary::clip, k.attributes.number("low"), k.attributes.number("high"));
            }});
  table.add("stop_gradient", {[](const KernelContext&) {}});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
