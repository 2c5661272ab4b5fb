#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/kernels/rounded.cuh"

// Functions of activations. With Quick, for results that are rounded to 16 bits: the special
// function units' exponential and reciprocal, good to about 1e-6. Without: the toolkit's functions,
// each within 2 units in the last place. NaN and infinities as in <cmath>. Compiled by NVRTC, too:
// see element.cuh.

namespace plimsoll::cuda::math {

/// 1 / x; 0 above 2^126.
__device__ __forceinline__ float quick_reciprocal(float x) { return __fdividef(1.0F, x); }

template <bool Quick>
__device__ __forceinline__ float exp(float x) {
  return Quick ? __expf(x) : expf(x);
}
template <bool>
__device__ __forceinline__ double exp(double x) {
  return ::exp(x);
}

/// 1 / (1 + exp(-x))
template <bool Quick>
__device__ __forceinline__ float sigmoid(float x) {
  if constexpr (Quick) {
    return quick_reciprocal(1.0F + __expf(-x));
  } else {
    return 1.0F / (1.0F + expf(-x));
  }
}
template <bool>
__device__ __forceinline__ double sigmoid(double x) {
  return 1.0 / (1.0 + ::exp(-x));
}

template <typename A>
struct Normal {
  A share;    ///< of the normal distribution, below x
  A density;  ///< at x
};

template <bool Quick>
__device__ __forceinline__ Normal<float> normal(float x) {
  const float e = exp<Quick>(-0.5F * x * x);
  const float density = 0.3989422804014327F * e;
  if constexpr (Quick) {
    // Abramowitz and Stegun, 7.1.26: the share above |x|, within 1e-7, without a difference.
    const float t = quick_reciprocal(rounded::fma(0.2316418882F, fabsf(x), 1.0F));
    float p = 0.5307027145F;
    p = rounded::fma(p, t, -0.7265760135F);
    p = rounded::fma(p, t, 0.7107068705F);
    p = rounded::fma(p, t, -0.142248368F);
    p = rounded::fma(p, t, 0.127414796F);
    const float above = p * t * e;
    return {x >= 0.0F ? 1.0F - above : above, density};
  } else {
    return {0.5F * (1.0F + erff(x * 0.7071067811865476F)), density};
  }
}
template <bool>
__device__ __forceinline__ Normal<double> normal(double x) {
  return {0.5 * (1.0 + ::erf(x * 0.7071067811865476)), 0.3989422804014327 * ::exp(-0.5 * x * x)};
}

}  // namespace plimsoll::cuda::math
