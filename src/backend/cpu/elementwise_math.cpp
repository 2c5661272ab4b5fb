// Roots, exponentials, logarithms, angles, rounding, powers.
#include "backend/cpu/loops.h"

namespace plimsoll::cpu {
namespace {

struct Sqrt {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return std::sqrt(x);
  }
};
struct SqrtGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return dy / (y + y);
  }
};
struct Rsqrt {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return T{1} / std::sqrt(x);
  }
};
struct RsqrtGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return dy * (T(-0.5) * y * y * y);
  }
};
struct Reciprocal {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return T{1} / x;
  }
};
struct ReciprocalGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return -dy * y * y;
  }
};
struct Exp {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::exp(x);
  }
};
struct Log {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::log(x);
  }
};
struct Log1p {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::log1p(x);
  }
};
struct Log1pGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return dy / (T{1} + x);
  }
};
struct Erf {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::erf(x);
  }
};
struct ErfGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return dy * (T(1.1283791670955126) * math::exp(-x * x));
  }
};
struct Floor {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return std::floor(x);
  }
};
struct Round {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return std::nearbyint(x);
  }
};

// The C library's, which reduces any angle and any power rightly; they are rare.
struct Sin {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return std::sin(x);
  }
};
struct SinGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return dy * std::cos(x);
  }
};
struct Cos {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return std::cos(x);
  }
};
struct CosGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return -dy * std::sin(x);
  }
};
struct Pow {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T a, T b) {
    return std::pow(a, b);
  }
};
/// The gradient of a to the b by a, and by b from the result.
struct PowGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T a, T b) {
    return b == T{0} ? T{0} : dy * b * std::pow(a, b - T{1});
  }
};
struct PowExponentGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y, T a) {
    return a > T{0} ? dy * y * std::log(a) : T{0};
  }
};

template <typename F, int Count>
Kernel floating() {
  return {[](const KernelContext& k) { run_float<F, Count>(k); }};
}

void add_kernels(KernelTable& table) {
  table.add("sqrt", floating<Sqrt, 1>());
  table.add("sqrt_grad", floating<SqrtGrad, 2>());
  table.add("rsqrt", floating<Rsqrt, 1>());
  table.add("rsqrt_grad", floating<RsqrtGrad, 2>());
  table.add("reciprocal", floating<Reciprocal, 1>());
  table.add("reciprocal_grad", floating<ReciprocalGrad, 2>());
  table.add("exp", floating<Exp, 1>());
  table.add("log", floating<Log, 1>());
  table.add("log1p", floating<Log1p, 1>());
  table.add("log1p_grad", floating<Log1pGrad, 2>());
  table.add("erf", floating<Erf, 1>());
  table.add("erf_grad", floating<ErfGrad, 2>());
  table.add("floor", floating<Floor, 1>());
  table.add("round", floating<Round, 1>());
  table.add("sin", floating<Sin, 1>());
  table.add("sin_grad", floating<SinGrad, 2>());
  table.add("cos", floating<Cos, 1>());
  table.add("cos_grad", floating<CosGrad, 2>());
  table.add("pow", floating<Pow, 2>());
  table.add("pow_grad", floating<PowGrad, 3>());
  table.add("pow_exponent_grad", floating<PowExponentGrad, 3>());
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
