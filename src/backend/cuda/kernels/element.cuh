#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <plimsoll/backend/common/convert.h>

#include "backend/cuda/kernels/math.cuh"
#include "backend/cuda/kernels/rounded.cuh"

// What pointwise ops do to an element, in the type they compute in (f32 for 16-bit floats). The
// kernels of this folder call these functions, and so do kernels that are generated and compiled at
// run time (programs.h); both without contraction, so that the same steps give the same bits. A
// product and a sum that are to be rounded once say so: rounded::fma.
//
// Compiled by nvcc and by NVRTC, which has no standard library: only what rtc/std.h has is used.

namespace plimsoll::cuda::element {

/// Integers wrap around where they overflow.
template <typename A>
using Wrapping = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

// Arithmetic.

template <typename A>
__device__ __forceinline__ A add(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) + static_cast<Wrapping<A>>(b));
  } else {
    return a + b;
  }
}
template <typename A>
__device__ __forceinline__ A sub(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) - static_cast<Wrapping<A>>(b));
  } else {
    return a - b;
  }
}
template <typename A>
__device__ __forceinline__ A mul(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(a) * static_cast<Wrapping<A>>(b));
  } else {
    return a * b;
  }
}
/// An integer divided by zero is zero: there is nobody to tell.
template <typename A>
__device__ __forceinline__ A div(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    if (b == A{0}) return A{0};
    if constexpr (std::is_signed_v<A>) {
      if (b == A{-1}) return sub(A{0}, a);
    }
    return static_cast<A>(a / b);
  } else {
    return a / b;
  }
}
/// b if either is NaN, unless a is.
template <typename A>
__device__ __forceinline__ A maximum(A a, A b) {
  const A larger = a > b ? a : b;
  return a != a ? a : larger;
}
template <typename A>
__device__ __forceinline__ A minimum(A a, A b) {
  const A smaller = a < b ? a : b;
  return a != a ? a : smaller;
}
template <typename A>
__device__ __forceinline__ A neg(A x) {
  if constexpr (std::is_integral_v<A>) {
    return sub(A{0}, x);
  } else {
    return -x;
  }
}
template <typename A>
__device__ __forceinline__ A abs(A x) {
  if constexpr (std::is_floating_point_v<A>) {
    return std::is_same_v<A, float> ? ::fabsf(x) : ::fabs(x);
  } else if constexpr (std::is_signed_v<A>) {
    return x < A{0} ? sub(A{0}, x) : x;
  } else {
    return x;
  }
}
template <typename A>
__device__ __forceinline__ A sign(A x) {
  const A positive = x > A{0} ? A{1} : A{0};
  if constexpr (std::is_floating_point_v<A>) {
    return x < A{0} ? A{-1} : (x != x ? x : positive);
  } else if constexpr (std::is_signed_v<A>) {
    return x < A{0} ? A{-1} : positive;
  } else {
    return positive;
  }
}
template <typename A>
__device__ __forceinline__ A square(A x) {
  return mul(x, x);
}
template <typename A>
__device__ __forceinline__ A scale(A x, A factor) {
  return mul(x, factor);
}
template <typename A>
__device__ __forceinline__ A shift(A x, A offset) {
  return add(x, offset);
}
template <typename A>
__device__ __forceinline__ A clip(A x, A low, A high) {
  const A above = x < low ? low : x;
  return above > high ? high : above;
}
template <typename A>
__device__ __forceinline__ A abs_grad(A dy, A x) {
  return dy * sign(x);
}
template <typename A>
__device__ __forceinline__ A square_grad(A dy, A x) {
  return (x + x) * dy;
}
template <typename A>
__device__ __forceinline__ A clip_grad(A dy, A x, A low, A high) {
  return (x < low) | (x > high) ? A{0} : dy;
}
template <typename A>
__device__ __forceinline__ A div_grad(A dy, A y, A b) {
  return -dy * y / b;
}
/// With Second, the gradient by b.
template <bool Second, typename A>
__device__ __forceinline__ A maximum_grad(A dy, A a, A b) {
  const bool first = (a >= b) | (a != a);
  return first != Second ? dy : A{0};
}
template <bool Second, typename A>
__device__ __forceinline__ A minimum_grad(A dy, A a, A b) {
  const bool first = (a <= b) | (a != a);
  return first != Second ? dy : A{0};
}

// The toolkit's functions of f32 by the name of those of f64.

__device__ __forceinline__ float sqrt(float x) { return ::sqrtf(x); }
__device__ __forceinline__ double sqrt(double x) { return ::sqrt(x); }
__device__ __forceinline__ float exp(float x) { return ::expf(x); }
__device__ __forceinline__ double exp(double x) { return ::exp(x); }
__device__ __forceinline__ float log(float x) { return ::logf(x); }
__device__ __forceinline__ double log(double x) { return ::log(x); }
__device__ __forceinline__ float log1p(float x) { return ::log1pf(x); }
__device__ __forceinline__ double log1p(double x) { return ::log1p(x); }
__device__ __forceinline__ float erf(float x) { return ::erff(x); }
__device__ __forceinline__ double erf(double x) { return ::erf(x); }
__device__ __forceinline__ float floor(float x) { return ::floorf(x); }
__device__ __forceinline__ double floor(double x) { return ::floor(x); }
__device__ __forceinline__ float round(float x) { return ::rintf(x); }
__device__ __forceinline__ double round(double x) { return ::rint(x); }
__device__ __forceinline__ float expm1(float x) { return ::expm1f(x); }
__device__ __forceinline__ double expm1(double x) { return ::expm1(x); }
__device__ __forceinline__ float tanh(float x) { return ::tanhf(x); }
__device__ __forceinline__ double tanh(double x) { return ::tanh(x); }
// Not inlined: these are large and rare, and a vector of them would be many times as large.
static __device__ __noinline__ float sin(float x) { return ::sinf(x); }
static __device__ __noinline__ double sin(double x) { return ::sin(x); }
static __device__ __noinline__ float cos(float x) { return ::cosf(x); }
static __device__ __noinline__ double cos(double x) { return ::cos(x); }
static __device__ __noinline__ float pow(float a, float b) { return ::powf(a, b); }
static __device__ __noinline__ double pow(double a, double b) { return ::pow(a, b); }

template <typename A>
__device__ __forceinline__ A rsqrt(A x) {
  return A{1} / element::sqrt(x);
}
template <typename A>
__device__ __forceinline__ A reciprocal(A x) {
  return A{1} / x;
}

// Gradients from dy and what was kept: y for sqrt, rsqrt and reciprocal, else x.

template <typename A>
__device__ __forceinline__ A sqrt_grad(A dy, A y) {
  return dy / (y + y);
}
template <typename A>
__device__ __forceinline__ A rsqrt_grad(A dy, A y) {
  return dy * (A(-0.5) * y * y * y);
}
template <typename A>
__device__ __forceinline__ A reciprocal_grad(A dy, A y) {
  return -dy * y * y;
}
template <typename A>
__device__ __forceinline__ A log1p_grad(A dy, A x) {
  return dy / (A{1} + x);
}
template <typename A>
__device__ __forceinline__ A erf_grad(A dy, A x) {
  return dy * (A(1.1283791670955126) * element::exp(-x * x));
}
template <typename A>
__device__ __forceinline__ A sin_grad(A dy, A x) {
  return dy * element::cos(x);
}
template <typename A>
__device__ __forceinline__ A cos_grad(A dy, A x) {
  return -dy * element::sin(x);
}
template <typename A>
__device__ __forceinline__ A pow_grad(A dy, A a, A b) {
  return b == A{0} ? A{0} : dy * b * element::pow(a, b - A{1});
}
template <typename A>
__device__ __forceinline__ A pow_exponent_grad(A dy, A y, A a) {
  return a > A{0} ? dy * y * element::log(a) : A{0};
}

// Activations. With Quick, for results that are rounded to 16 bits: see math.cuh.

/// NaN stays.
template <typename A>
__device__ __forceinline__ A relu(A x) {
  return x <= A{0} ? A{0} : x;
}
template <typename A>
__device__ __forceinline__ A elu(A x, A alpha) {
  return x > A{0} ? x : alpha * element::expm1(x);
}
template <bool Quick, typename A>
__device__ __forceinline__ A sigmoid(A x) {
  return math::sigmoid<Quick>(x);
}
template <bool Quick, typename A>
__device__ __forceinline__ A silu(A x) {
  return x * math::sigmoid<Quick>(x);
}
template <typename A>
__device__ __forceinline__ A softplus(A x) {
  return (x < A{0} ? A{0} : x) + element::log1p(element::exp(-element::abs(x)));
}
template <bool Quick, typename A>
__device__ __forceinline__ A gelu(A x) {
  return x * math::normal<Quick>(x).share;
}
/// The argument of the tanh form, sqrt(2 / pi) * (x + 0.044715 x^3).
template <typename A>
__device__ __forceinline__ A gelu_argument(A x) {
  return x * rounded::fma(A(0.035677408136300125) * x, x, A(0.7978845608028654));
}
/// 0.5 * (1 + tanh(a)) is a sigmoid.
template <bool Quick, typename A>
__device__ __forceinline__ A gelu_tanh(A x) {
  return x * math::sigmoid<Quick>(A{2} * gelu_argument(x));
}

// Their gradients from dy and what was kept: y, or x for silu, softplus and gelu.

template <typename A>
__device__ __forceinline__ A relu_grad(A dy, A y) {
  return y > A{0} ? dy : A{0};
}
template <typename A>
__device__ __forceinline__ A elu_grad(A dy, A y, A alpha) {
  return y > A{0} ? dy : dy * (y + alpha);
}
template <typename A>
__device__ __forceinline__ A sigmoid_grad(A dy, A y) {
  return dy * (y * (A{1} - y));
}
template <typename A>
__device__ __forceinline__ A tanh_grad(A dy, A y) {
  return dy * rounded::fma(-y, y, A{1});
}
template <bool Quick, typename A>
__device__ __forceinline__ A silu_grad(A dy, A x) {
  const A s = math::sigmoid<Quick>(x);
  return dy * (s * rounded::fma(x, A{1} - s, A{1}));
}
template <bool Quick, typename A>
__device__ __forceinline__ A softplus_grad(A dy, A x) {
  return dy * math::sigmoid<Quick>(x);
}
template <bool Quick, typename A>
__device__ __forceinline__ A gelu_grad(A dy, A x) {
  const math::Normal<A> normal = math::normal<Quick>(x);
  return dy * rounded::fma(x, normal.density, normal.share);
}
template <bool Quick, typename A>
__device__ __forceinline__ A gelu_tanh_grad(A dy, A x) {
  const A s = math::sigmoid<Quick>(A{2} * gelu_argument(x));
  const A slope = rounded::fma(A(6 * 0.035677408136300125) * x, x, A(2 * 0.7978845608028654));
  return dy * rounded::fma(x * (s * (A{1} - s)), slope, s);
}

// Comparisons and logic. bool compares as the numbers 0 and 1.

template <typename A>
__device__ __forceinline__ bool equal(A a, A b) {
  return a == b;
}
template <typename A>
__device__ __forceinline__ bool not_equal(A a, A b) {
  return a != b;
}
template <typename A>
__device__ __forceinline__ bool less(A a, A b) {
  return a < b;
}
template <typename A>
__device__ __forceinline__ bool less_equal(A a, A b) {
  return a <= b;
}
template <typename A>
__device__ __forceinline__ bool logical_and(A a, A b) {
  return a != A{0} && b != A{0};
}
template <typename A>
__device__ __forceinline__ bool logical_or(A a, A b) {
  return a != A{0} || b != A{0};
}
template <typename A>
__device__ __forceinline__ bool logical_not(A x) {
  return x == A{0};
}
template <typename A>
__device__ __forceinline__ bool is_finite(A x) {
  return x - x == A{0};
}

// Casts.

/// As f32 such that rounding that to 16 bits is as if the number itself had been: the last bit says
/// that something was lost (rounding to odd).
__device__ __forceinline__ float with_lost(float toward_zero, bool lost) {
  return lost ? __uint_as_float(__float_as_uint(toward_zero) | 1U) : toward_zero;
}
template <typename From>
__device__ __forceinline__ float rounded_to_odd(From x) {
  if constexpr (std::is_same_v<From, double>) {
    const float near = __double2float_rz(x);
    return with_lost(near, static_cast<double>(near) != x && x == x);
  } else if constexpr (std::is_same_v<From, std::int64_t>) {
    const float near = __ll2float_rz(x);
    return with_lost(near, static_cast<std::int64_t>(near) != x);
  } else {
    const float near = __int2float_rz(x);
    return with_lost(near, static_cast<std::int64_t>(near) != x);
  }
}
/// From one type that is computed in to another; with Narrow, what is rounded to 16 bits next.
template <bool Narrow, typename To, typename From>
__device__ __forceinline__ To cast(From x) {
  if constexpr (Narrow && (std::is_same_v<From, double> || std::is_same_v<From, std::int64_t> ||
                           std::is_same_v<From, std::int32_t>)) {
    return rounded_to_odd(x);
  } else {
    return backend::converted<To>(x);
  }
}

}  // namespace plimsoll::cuda::element
