#pragma once

#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

// What the kernels of depthwise convolutions share: channels last, Lanes channels in a thread:
// kWide of them where channels are a multiple of that, else one.

namespace plimsoll::cuda::depthwise {

using ops::ConvShape;

constexpr int kWide = 4;
/// Results beside each other that a thread has.
constexpr int kRow = 8;
/// The same for windows of any width, stride and dilation.
constexpr int kSome = 4;

struct Window {
  int channels;
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  int kernel_height;
  int kernel_width;
  int stride_down;
  int stride_across;
  int dilation_down;
  int dilation_across;
  int top;
  int left;
};

inline Window window_of(const ConvShape& s) {
  const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
  return {.channels = as_int(s.in_channels),
          .in_height = as_int(s.in_height),
          .in_width = as_int(s.in_width),
          .out_height = as_int(s.out_height),
          .out_width = as_int(s.out_width),
          .kernel_height = as_int(s.kernel_height),
          .kernel_width = as_int(s.kernel_width),
          .stride_down = as_int(s.stride_down),
          .stride_across = as_int(s.stride_across),
          .dilation_down = as_int(s.dilation_down),
          .dilation_across = as_int(s.dilation_across),
          .top = as_int(s.padding.top),
          .left = as_int(s.padding.left)};
}

/// Lanes channels as they are in memory, zero where there are none.
template <typename T, int Lanes>
using Raw = Word<static_cast<int>(sizeof(T)) * Lanes>;

template <int Lanes, typename T>
__device__ __forceinline__ Raw<T, Lanes> load_raw(const T* at, bool inside) {
  Raw<T, Lanes> raw = {};
  if (inside) raw = *reinterpret_cast<const Raw<T, Lanes>*>(at);
  return raw;
}

template <typename T, int Lanes>
__device__ __forceinline__ void widen_raw(const Raw<T, Lanes>& raw, float* to) {
  Vec<T, Lanes> vec;
  __builtin_memcpy(&vec, &raw, sizeof(raw));
#pragma unroll
  for (int c = 0; c < Lanes; ++c) to[c] = static_cast<float>(widen(vec.lane[c]));
}

/// Whether 0 <= at < extent.
__device__ __forceinline__ bool is_within(int at, int extent) {
  return static_cast<unsigned>(at) < static_cast<unsigned>(extent);
}

inline bool is_dense(const ConvShape& s) {
  return s.stride_down == 1 && s.stride_across == 1 && s.dilation_down == 1 &&
         s.dilation_across == 1;
}

/// Whether there are kernels for a window of its width that have a row of results in a thread.
inline bool has_rows(const ConvShape& s) {
  return is_dense(s) && (s.kernel_width == 3 || s.kernel_width == 5 || s.kernel_width == 7);
}

/// body.operator()<Width>() for windows that have; false for others.
template <typename Body>
bool with_width(const ConvShape& s, Body&& body) {
  if (!has_rows(s)) return false;
  switch (s.kernel_width) {
    case 3:
      body.template operator()<3>();
      return true;
    case 5:
      body.template operator()<5>();
      return true;
    case 7:
      body.template operator()<7>();
      return true;
    default:
      return false;
  }
}

/// body.operator()<Lanes>() for a convolution's channels.
template <typename Body>
void with_lanes(const ConvShape& s, Body&& body) {
  s.in_channels % kWide == 0 ? body.template operator()<kWide>() : body.template operator()<1>();
}

/// The gradient by the weight; `parts` is the workspace of its route.
template <typename T>
void run_by_weight(const ConvSpec& spec, const ConvArrays& arrays, float* parts,
                   cudaStream_t stream);

}  // namespace plimsoll::cuda::depthwise
