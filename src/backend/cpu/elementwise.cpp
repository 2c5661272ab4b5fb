// Arithmetic: floats and integers.
#include <plimsoll/base/error.h>

#include "backend/cpu/loops.h"

namespace plimsoll::cpu {
namespace {

template <typename T>
inline constexpr bool kInteger = std::is_integral_v<T>;

struct Add {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    if constexpr (kInteger<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};
struct Sub {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    if constexpr (kInteger<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};
struct Mul {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    if constexpr (kInteger<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};
struct Div {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    if constexpr (kInteger<T>) {
      if (b == 0) throw InvalidArgument("[div] an integer is divided by zero; use floats");
      // The one quotient that does not fit.
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub::apply(T{0}, a);
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
/// The gradient of a / b by b.
struct DivGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y, T b) {
    return -dy * y / b;
  }
};

struct Maximum {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    const T larger = a > b ? a : b;  // b if either is NaN
    return a != a ? a : larger;
  }
};
struct Minimum {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
struct MaximumGradFirst {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T a, T b) {
    return (a >= b) | (a != a) ? dy : T{0};
  }
};
struct MaximumGradSecond {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T a, T b) {
    return (a >= b) | (a != a) ? T{0} : dy;
  }
};
struct MinimumGradFirst {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T a, T b) {
    return (a <= b) | (a != a) ? dy : T{0};
  }
};
struct MinimumGradSecond {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T a, T b) {
    return (a <= b) | (a != a) ? T{0} : dy;
  }
};

struct Neg {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    if constexpr (kInteger<T>) {
      return Sub::apply(T{0}, x);
    } else {
      return -x;
    }
  }
};
struct Abs {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    if constexpr (kInteger<T>) {
      return x < 0 ? Sub::apply(T{0}, x) : x;
    } else {
      return math::abs(x);
    }
  }
};
struct Sign {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    const T sign = x > 0 ? static_cast<T>(1) : static_cast<T>(0);
    return x < 0 ? static_cast<T>(-1) : (x != x ? x : sign);
  }
};
struct AbsGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return dy * Sign::apply(x);
  }
};
struct Square {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return Mul::apply(x, x);
  }
};
struct SquareGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return (x + x) * dy;
  }
};
struct Scale {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T factor, T) {
    return Mul::apply(x, factor);
  }
};
struct Shift {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T offset, T) {
    return Add::apply(x, offset);
  }
};
struct Clip {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T low, T high) {
    const T above = x < low ? low : x;
    return above > high ? high : above;
  }
};
struct ClipGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x, T low, T high) {
    return (x < low) | (x > high) ? T{0} : dy;
  }
};

/// Those of a clip; integers have none that they cannot reach.
Numbers bounds(const KernelContext& k) {
  Numbers numbers{k.attributes.number("low"), k.attributes.number("high")};
  if (is_floating(k.in(0).dtype())) return numbers;
  with_integer(k.in(0).dtype(), [&]<typename T>() {
    for (double& bound : numbers) bound = static_cast<double>(ops::nearest_integer<T>(bound));
  });
  return numbers;
}

template <typename First, typename Second>
void run_either(const KernelContext& k) {
  k.attributes.flag("second") ? run_float<Second, 3>(k) : run_float<First, 3>(k);
}

template <typename F, int Count>
Kernel number() {
  return {[](const KernelContext& k) { run_number<F, Count>(k); }};
}
template <typename F, int Count>
Kernel floating() {
  return {[](const KernelContext& k) { run_float<F, Count>(k); }};
}

void add_kernels(KernelTable& table) {
  table.add("add", number<Add, 2>());
  table.add("sub", number<Sub, 2>());
  table.add("mul", number<Mul, 2>());
  table.add("div", number<Div, 2>());
  table.add("div_grad", floating<DivGrad, 3>());
  table.add("maximum", number<Maximum, 2>());
  table.add("minimum", number<Minimum, 2>());
  table.add("maximum_grad", {run_either<MaximumGradFirst, MaximumGradSecond>});
  table.add("minimum_grad", {run_either<MinimumGradFirst, MinimumGradSecond>});
  table.add("neg", number<Neg, 1>());
  table.add("abs", number<Abs, 1>());
  table.add("abs_grad", floating<AbsGrad, 2>());
  table.add("sign", number<Sign, 1>());
  table.add("square", number<Square, 1>());
  table.add("square_grad", floating<SquareGrad, 2>());
  table.add("scale", {[](const KernelContext& k) {
              run_number<Scale, 1>(k, {k.attributes.number("factor")});
            }});
  table.add("shift", {[](const KernelContext& k) {
              run_number<Shift, 1>(k, {k.attributes.number("offset")});
            }});
  table.add("clip", {[](const KernelContext& k) { run_number<Clip, 1>(k, bounds(k)); }});
  table.add("clip_grad", {[](const KernelContext& k) { run_float<ClipGrad, 2>(k, bounds(k)); }});
  table.add("stop_gradient", {[](const KernelContext&) {}});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
