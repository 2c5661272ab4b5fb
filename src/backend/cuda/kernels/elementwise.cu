// Arithmetic: floats and integers.
#include <plimsoll/ops/element.h>

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

/// Integers wrap around where they overflow.
template <typename A>
using Wrapping = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

template <typename A>
__device__ __forceinline__ A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) + static_cast<Wrapping<A>>(b));
  } else {
    return a + b;
  }
}
template <typename A>
__device__ __forceinline__ A minus(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) - static_cast<Wrapping<A>>(b));
  } else {
    return a - b;
  }
}
template <typename A>
__device__ __forceinline__ A times(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) * static_cast<Wrapping<A>>(b));
  } else {
    return a * b;
  }
}
/// An integer divided by zero is zero: there is nobody to tell.
template <typename A>
__device__ __forceinline__ A over(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    if (b == A{0}) return A{0};
    if constexpr (std::is_signed_v<A>) {
      if (b == A{-1}) return minus(A{0}, a);
    }
    return static_cast<A>(a / b);
  } else {
    return a / b;
  }
}
template <typename A>
__device__ __forceinline__ A negative(A x) {
  if constexpr (std::is_integral_v<A>) {
    return minus(A{0}, x);
  } else {
    return -x;
  }
}
template <typename A>
__device__ __forceinline__ A absolute(A x) {
  if constexpr (std::is_floating_point_v<A>) {
    return std::is_same_v<A, float> ? fabsf(x) : fabs(x);
  } else if constexpr (std::is_signed_v<A>) {
    return x < A{0} ? minus(A{0}, x) : x;
  } else {
    return x;
  }
}
template <typename A>
__device__ __forceinline__ A sign_of(A x) {
  const A sign = x > A{0} ? A{1} : A{0};
  if constexpr (std::is_floating_point_v<A>) {
    return x < A{0} ? A{-1} : (x != x ? x : sign);
  } else if constexpr (std::is_signed_v<A>) {
    return x < A{0} ? A{-1} : sign;
  } else {
    return sign;
  }
}

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
        return each(y, [&](int i) { return negative(x[i]); });
      case Unary::abs:
        return each(y, [&](int i) { return absolute(x[i]); });
      case Unary::sign:
        return each(y, [&](int i) { return sign_of(x[i]); });
      case Unary::square:
        return each(y, [&](int i) { return times(x[i], x[i]); });
      case Unary::scale:
        return each(y, [&](int i) { return times(x[i], first); });
      case Unary::shift:
        return each(y, [&](int i) { return plus(x[i], first); });
      case Unary::clip:
        return each(y, [&](int i) {
          const A above = x[i] < first ? first : x[i];
          return above > second ? second : above;
        });
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
        return each(y, [&](int i) { return plus(a[i], b[i]); });
      case Binary::sub:
        return each(y, [&](int i) { return minus(a[i], b[i]); });
      case Binary::mul:
        return each(y, [&](int i) { return times(a[i], b[i]); });
      case Binary::div:
        return each(y, [&](int i) { return over(a[i], b[i]); });
      case Binary::maximum:
        return each(y, [&](int i) {
          const A larger = a[i] > b[i] ? a[i] : b[i];  // b if either is NaN
          return a[i] != a[i] ? a[i] : larger;
        });
      case Binary::minimum:
        return each(y, [&](int i) {
          const A smaller = a[i] < b[i] ? a[i] : b[i];
          return a[i] != a[i] ? a[i] : smaller;
        });
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<A>) {
      // dy and x
      switch (op) {
        case Binary::abs_grad:
          return each(y, [&](int i) { return a[i] * sign_of(b[i]); });
        case Binary::square_grad:
          return each(y, [&](int i) { return (b[i] + b[i]) * a[i]; });
        case Binary::clip_grad:
          return each(y, [&](int i) { return (b[i] < first) | (b[i] > second) ? A{0} : a[i]; });
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
        return each(y, [&](int i) { return -dy[i] * a[i] / b[i]; });
      case Ternary::maximum_grad:
        return each(y, [&](int i) {
          const bool first = (a[i] >= b[i]) | (a[i] != a[i]);
          return first != second ? dy[i] : A{0};
        });
      case Ternary::minimum_grad:
        return each(y, [&](int i) {
          const bool first = (a[i] <= b[i]) | (a[i] != a[i]);
          return first != second ? dy[i] : A{0};
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
