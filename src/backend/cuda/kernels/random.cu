// Fills, random draws and dropout. Element i of a draw takes word i of the op's stream, so the
// numbers are the CPU's.
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/random_stream.cuh"
#include "backend/cuda/kernels/strided_copy.h"

namespace plimsoll::cuda {
namespace {

// The logarithm and the circle of backend/cpu/math.h, of the same polynomials, so that normals
// differ from the CPU's by rounding alone.

/// For x in (0, 1].
__device__ __forceinline__ float log_unit(float x) {
  // The mantissa in [sqrt(1/2), sqrt(2)).
  const std::uint32_t above = __float_as_uint(x) - 0x3f3504f3U;
  const auto n = static_cast<float>(static_cast<std::int32_t>(above) >> 23);
  const float f = __uint_as_float((above & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
  return backend::log_of_parts(f, n);
}

/// The sine and the cosine of a turn's `x`-th part, for x in [0, 1].
__device__ __forceinline__ void sincos_turn(float x, float& sine, float& cosine) {
  constexpr float kRounder = 12582912.0F;
  const float quarters = x * 4.0F;
  const float shifted = __fadd_rn(quarters, kRounder);
  const std::uint32_t quadrant = __float_as_uint(shifted);
  const float r = quarters - __fsub_rn(shifted, kRounder);
  const float a = backend::sine_of_quarters(r);
  const float b = backend::cosine_of_quarters(r);
  const bool swapped = (quadrant & 1U) != 0;
  const float sin_part = swapped ? b : a;
  const float cos_part = swapped ? a : b;
  sine = __uint_as_float(__float_as_uint(sin_part) ^ ((quadrant & 2U) << 30));
  cosine = __uint_as_float(__float_as_uint(cos_part) ^ (((quadrant + 1U) & 2U) << 30));
}

struct Uniform {
  float low;
  float width;
  __device__ __forceinline__ void operator()(const RandomWords& words, float* to) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = fmaf(unit(words.word[i]), width, low);
  }
};

/// Box and Muller: words 2i and 2i + 1 give normals 2i and 2i + 1.
struct Gauss {
  float mean;
  float deviation;
  __device__ __forceinline__ void operator()(const RandomWords& words, float* to) const {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      // In (0, 1], so that the logarithm is finite.
      const float within = unit(words.word[i]) + (1.0F / 16777216.0F);
      const float radius = sqrtf(-2.0F * log_unit(within)) * deviation;
      float sine = 0;
      float cosine = 0;
      sincos_turn(unit(words.word[i + 1]), sine, cosine);
      to[i] = fmaf(radius, cosine, mean);
      to[i + 1] = fmaf(radius, sine, mean);
    }
  }
};

template <typename T>
__device__ __forceinline__ T from_float(float value) {
  return narrow<T>(static_cast<Acc<T>>(value));
}

/// Elements that a thread writes at once: whole blocks of four words.
template <typename T>
inline constexpr int kDrawn = kVector<T> < 4 ? 4 : kVector<T>;

/// f64 is computed in f32 and widened: it is there for tests.
template <typename T, typename Draw>
__global__ void __launch_bounds__(kThreads)
    draw_kernel(T* to, std::int64_t elements, const RandomSource source, const Draw draw) {
  constexpr int E = kDrawn<T>;
  const RandomStream stream(source);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * E;
  std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * E;
  for (; at < elements; at += stride) {
    float values[E];
#pragma unroll
    for (int i = 0; i < E; i += 4) {
      draw(stream.block(static_cast<std::uint64_t>(at + i) / 4), values + i);
    }
    if (at + E <= elements) {
#pragma unroll
      for (int i = 0; i < E; i += kVector<T>) {
        Vec<T> vec;
#pragma unroll
        for (int j = 0; j < kVector<T>; ++j) vec.lane[j] = from_float<T>(values[i + j]);
        store_vec(to + at + i, vec);
      }
    } else {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (at + i < elements) to[at + i] = from_float<T>(values[i]);
      }
    }
  }
}

template <typename Draw>
void run_draw(const KernelContext& k, const Draw& draw, const char* who) {
  const std::int64_t elements = k.out(0).elements();
  if (elements == 0) return;
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const unsigned blocks = blocks_for((elements + kDrawn<T> - 1) / kDrawn<T>);
    draw_kernel<T>
        <<<blocks, kThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), elements, random_source(k), draw);
    check_launch(who);
  });
}

void run_uniform(const KernelContext& k) {
  const auto low = static_cast<float>(k.attributes.number("low"));
  run_draw(k, Uniform{low, static_cast<float>(k.attributes.number("high")) - low},
           "random_uniform");
}
void run_normal(const KernelContext& k) {
  run_draw(k,
           Gauss{static_cast<float>(k.attributes.number("mean")),
                 static_cast<float>(k.attributes.number("deviation"))},
           "random_normal");
}

/// May be written over x.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(T* y, const T* x, std::int64_t elements, const RandomSource source,
                   std::uint32_t below, Acc<T> factor) {
  constexpr int E = kDrawn<T>;
  const RandomStream stream(source);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * E;
  std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * E;
  for (; at < elements; at += stride) {
    Acc<T> values[E];
    const bool whole = at + E <= elements;
    if (whole) {
#pragma unroll
      for (int i = 0; i < E; i += kVector<T>) load_wide<kVector<T>>(x + at + i, values + i);
    } else {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        values[i] = at + i < elements ? widen(x[at + i]) : Acc<T>{0};
      }
    }
#pragma unroll
    for (int i = 0; i < E; i += 4) {
      const RandomWords words = stream.block(static_cast<std::uint64_t>(at + i) / 4);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        values[i + j] = words.word[j] >= below ? values[i + j] * factor : Acc<T>{0};
      }
    }
    if (whole) {
#pragma unroll
      for (int i = 0; i < E; i += kVector<T>) store_wide<kVector<T>>(y + at + i, values + i);
    } else {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (at + i < elements) y[at + i] = narrow<T>(values[i]);
      }
    }
  }
}

void run_dropout(const KernelContext& k) {
  const double rate = k.attributes.number("rate");
  const auto below = static_cast<std::uint32_t>(rate * 4294967296.0);
  const std::int64_t elements = k.out(0).elements();
  if (elements == 0) return;
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const unsigned blocks = blocks_for((elements + kDrawn<T> - 1) / kDrawn<T>);
    dropout_kernel<T><<<blocks, kThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), k.in(0).as<const T>(),
                                                            elements, random_source(k), below,
                                                            static_cast<Acc<T>>(1 / (1 - rate)));
    check_launch("dropout");
  });
}

/// i as an element; integers stop at the largest they have.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    arange_kernel(T* to, std::int64_t elements, std::int64_t most) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i < elements; i += stride) {
    if constexpr (std::is_integral_v<T>) {
      to[i] = static_cast<T>(i < most ? i : most);
    } else {
      // By way of f64, as the CPU goes.
      to[i] = narrow<T>(static_cast<Acc<T>>(static_cast<double>(i)));
    }
  }
}

void run_arange(const KernelContext& k) {
  const std::int64_t elements = k.out(0).elements();
  if (elements == 0) return;
  with_number(k.out(0).dtype(), [&]<typename T>() {
    std::int64_t most = 0;
    if constexpr (std::is_integral_v<T>) most = std::numeric_limits<T>::max();
    arange_kernel<T>
        <<<blocks_for(elements), kThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), elements, most);
    check_launch("arange");
  });
}

void add_kernels(KernelTable& table) {
  table.add("full", {[](const KernelContext& k) {
              if (k.attributes.has("whole")) {  // of i64, where a double would not be exact
                const auto bits = static_cast<std::uint64_t>(k.attributes.integer("whole"));
                return fill_bits(k.out(0), bits, queue_of(k));
              }
              fill(k.out(0), k.attributes.number("value"), queue_of(k));
            }});
  table.add("arange", {run_arange});
  table.add("random_uniform", {run_uniform});
  table.add("random_normal", {run_normal});
  table.add("dropout", {run_dropout});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
