// Attention for so few tokens that a head's keys and values are in shared memory. A block has one
// head, a warp 32 of its queries. The scores are computed twice: first for their maximum, then for
// the weights, so that no sum is ever scaled again.
#include "backend/cuda/kernels/attention_short.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionShape;

constexpr int kBlockThreads = 128;
constexpr int kBlocks = 3;        ///< of a multiprocessor
constexpr int kTiles = 2;         ///< of 16 queries, in a warp
constexpr int kKeys = 2 * kStep;  ///< at a time
static_assert(kKeys == kMaskKeys, "a word of bits is for the keys of a turn");

template <typename T>
struct Arguments : ShortHeads {
  const T* q;
  const T* k;
  const T* v;
  T* y;
  float* log_sums;
};

__host__ __device__ constexpr int whole_keys(int keys) {
  return (keys + kKeys - 1) / kKeys * kKeys;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// Rows of queries as A, zeros after the last; with the other sign where `turned`.
template <typename T, int kSize>
__device__ __forceinline__ void load_queries(unsigned (&to)[kTiles][kSize / 16][4], const T* from,
                                             std::int64_t stride, int count, bool turned) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned signs = turned ? 0x80008000U : 0U;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = m * kStep + half * 8 + lane / 4;
      const T* at = from + row * stride + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < kSize / 16; ++i) {
        to[m][i][half] = row < count ? *reinterpret_cast<const unsigned*>(at + i * 16) ^ signs : 0U;
        to[m][i][half + 2] =
            row < count ? *reinterpret_cast<const unsigned*>(at + i * 16 + 8) ^ signs : 0U;
      }
    }
  }
}

using Scores = float[kTiles][kKeys / 8][4];

/// The products of a tile of queries with kKeys keys, from address `keys` on.
template <typename T, int kSize>
__device__ __forceinline__ void multiply_keys(Scores& scores,
                                              const unsigned (&queries)[kTiles][kSize / 16][4],
                                              unsigned keys) {
  using R = Rows<kSize>;
#pragma unroll
  for (int i = 0; i < kSize / 16; ++i) {
    unsigned b[kKeys / kStep][4];
#pragma unroll
    for (int s = 0; s < kKeys / kStep; ++s) {
      load_matrices(b[s], (keys + R::pair() + static_cast<unsigned>(s * kStep * R::kBytes)) ^
                              static_cast<unsigned>(i << 5));
    }
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        multiply_add<T>(scores[m][n], queries[m][i], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
      }
    }
  }
}

/// `counted` has a bit for each key of the head.
template <typename T, int kSize>
__device__ __forceinline__ void run_queries(const Arguments<T>& a, unsigned keys, unsigned values,
                                            const unsigned* counted, int first) {
  using R = Rows<kSize>;
  const int lane = static_cast<int>(threadIdx.x % 32);
  // The largest product has the largest score: where the scale is negative, queries are turned.
  const float exponent = fabsf(a.scale) * kLog2E;
  const float lowest = __int_as_float(static_cast<int>(0xff800000));
  const int end = min(a.keys, first + kTiles * kStep + a.ahead);
  unsigned queries[kTiles][kSize / 16][4];
  load_queries<T, kSize>(queries,
                         a.q + unit_start(a.at_q, blockIdx.x, a.heads) + first * a.at_q.row,
                         a.at_q.row, a.queries - first, a.scale < 0);

  /// Puts `value` where a query does not see the key, of those from c on. `bits`: those that count.
  const auto hide = [&](Scores& scores, int c, unsigned bits, float value) {
    if (bits == 0xffffffffU && c + kKeys - 1 <= first + a.ahead) return;
#pragma unroll
    for (int i = 0; i < kTiles * kKeys / 2; ++i) {
      const int m = i / (kKeys / 2);
      const int n = i / 4 % (kKeys / 8);
      const int key = n * 8 + lane % 4 * 2 + i % 2;
      const int last = first + m * kStep + i / 2 % 2 * 8 + lane / 4 + a.ahead;
      const bool seen =
          static_cast<int>((bits >> key & 1U) != 0) & static_cast<int>(c + key <= last);
      scores[m][n][i % 4] = seen ? scores[m][n][i % 4] : value;
    }
  };
  // Of this lane's rows, two in each tile.
  float highest[kTiles][2];
  float sums[kTiles][2] = {};
#pragma unroll
  for (int m = 0; m < kTiles; ++m) highest[m][0] = highest[m][1] = lowest;
  for (int c = 0; c < end; c += kKeys) {
    const unsigned bits = counted[c / kKeys];
    if (bits == 0) continue;
    Scores scores = {};
    multiply_keys<T, kSize>(scores, queries, keys + static_cast<unsigned>(c * R::kBytes));
    hide(scores, c, bits, lowest);
#pragma unroll
    for (int i = 0; i < kTiles * kKeys / 2; ++i) {
      float& top = highest[i / (kKeys / 2)][i / 2 % 2];
      top = fmaxf(top, scores[i / (kKeys / 2)][i / 4 % (kKeys / 8)][i % 4]);
    }
  }
  float shifts[kTiles][2];
#pragma unroll
  for (int i = 0; i < kTiles * 2; ++i) {
    float& top = highest[i / 2][i % 2];
    top = fmaxf(top, __shfl_xor_sync(kWholeWarp, top, 1));
    top = fmaxf(top, __shfl_xor_sync(kWholeWarp, top, 2));
    shifts[i / 2][i % 2] = top == lowest ? 0.0F : top * exponent;
  }

  float y[kTiles][kSize / 8][4] = {};
  for (int c = 0; c < end; c += kKeys) {
    const unsigned bits = counted[c / kKeys];
    if (bits == 0) continue;
    Scores scores = {};
    multiply_keys<T, kSize>(scores, queries, keys + static_cast<unsigned>(c * R::kBytes));
#pragma unroll
    for (int i = 0; i < kTiles * kKeys / 2; ++i) {
      float& score = scores[i / (kKeys / 2)][i / 4 % (kKeys / 8)][i % 4];
      score = power_of_two(score * exponent - shifts[i / (kKeys / 2)][i / 2 % 2]);
    }
    hide(scores, c, bits, 0.0F);
    unsigned weights[kTiles][kKeys / kStep][4];
#pragma unroll
    for (int i = 0; i < kTiles * kKeys / 4; ++i) {
      const int m = i / (kKeys / 4);
      const int n = i / 2 % (kKeys / 8);
      const float(&pair)[4] = scores[m][n];
      sums[m][i % 2] += pair[i % 2 * 2] + pair[i % 2 * 2 + 1];
      weights[m][n / 2][n % 2 * 2 + i % 2] = pack<T>(pair[i % 2 * 2], pair[i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int s = 0; s < kKeys / kStep; ++s) {
      const unsigned at = values + static_cast<unsigned>((c + s * kStep) * R::kBytes) + R::square();
#pragma unroll
      for (int i = 0; i < kSize / 16; ++i) {
        unsigned b[4];
        load_transposed(b, at ^ static_cast<unsigned>(i << 5));
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            multiply_add<T>(y[m][i * 2 + n], weights[m][s], b[2 * n], b[2 * n + 1]);
          }
        }
      }
    }
  }
  T* to = a.y + unit_start(a.at_y, blockIdx.x, a.heads);
  float* log_sums = a.log_sums + static_cast<std::int64_t>(blockIdx.x) * a.queries;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int row = first + m * kStep;
    float factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums[m][half];
      sum += __shfl_xor_sync(kWholeWarp, sum, 1);
      sum += __shfl_xor_sync(kWholeWarp, sum, 2);
      const int query = row + half * 8 + lane / 4;
      const bool blind = sum == 0.0F;  // it sees no key: of those it sees, one has the weight 1
      factors[half] = blind ? 0.0F : 1.0F / sum;
      if (lane % 4 == 0 && query < a.queries) {
        log_sums[query] = blind ? 0.0F : highest[m][half] * fabsf(a.scale) + logf(sum);
      }
    }
    store_rows<T, kSize>(to + row * a.at_y.row, a.at_y.row, y[m], a.queries - row, factors[0],
                         factors[1]);
  }
}

#endif

template <typename T, int kSize>
__global__ void __launch_bounds__(kBlockThreads, kBlocks) short_kernel(Arguments<T> a) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) std::byte memory[];
  __shared__ unsigned counted[kMaskWords];
  const int rows = whole_keys(a.keys);
  const unsigned keys = shared_address(memory);
  const unsigned values = keys + static_cast<unsigned>(rows * Rows<kSize>::kBytes);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int begin = rows / kStep * warp / warps;
  const int end = rows / kStep * (warp + 1) / warps;
  copy_steps<T, kSize>(keys, a.k + unit_start(a.at_k, blockIdx.x, a.heads, a.group), a.at_k.row,
                       a.keys, begin, end);
  copy_steps<T, kSize>(values, a.v + unit_start(a.at_v, blockIdx.x, a.heads, a.group), a.at_v.row,
                       a.keys, begin, end);
  find_keys(counted, a, blockIdx.x, warp, warps);
  wait_for_copies();
  __syncthreads();
  constexpr int kQueries = kTiles * kStep;
  for (int first = warp * kQueries; first < a.queries; first += warps * kQueries) {
    run_queries<T, kSize>(a, keys, values, counted, first);
  }
#endif
}

template <typename T, int kSize>
void launch(const Arguments<T>& a, const AttentionShape& s, cudaStream_t stream) {
  constexpr int kMost = 2 * whole_keys(ops::kShortMaskedTokens) * Rows<kSize>::kBytes;
  check(cudaFuncSetAttribute(short_kernel<T, kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kMost),
        "attention");
  const int tiles = (a.queries + kTiles * kStep - 1) / (kTiles * kStep);
  const int warps = std::min(tiles, kBlockThreads / 32);
  short_kernel<T, kSize>
      <<<static_cast<unsigned>(s.units()), static_cast<unsigned>(warps * 32),
         static_cast<std::size_t>(2 * whole_keys(a.keys) * Rows<kSize>::kBytes), stream>>>(a);
  check_launch("attention");
}

template <typename T>
void launch_as(const AttentionShape& s, const AttentionArrays& arrays, cudaStream_t stream) {
  Arguments<T> a{};
  static_cast<ShortHeads&>(a) = short_heads(s, arrays);
  a.q = static_cast<const T*>(arrays.q);
  a.k = static_cast<const T*>(arrays.k);
  a.v = static_cast<const T*>(arrays.v);
  a.y = static_cast<T*>(arrays.y);
  a.log_sums = static_cast<float*>(arrays.log_sums);
  if (s.size == 64) return launch<T, 64>(a, s, stream);
  launch<T, 32>(a, s, stream);
}

}  // namespace

void short_attention(const AttentionShape& s, DType dtype, const AttentionArrays& arrays,
                     cudaStream_t stream) {
  if (s.units() == 0) return;
  if (dtype == DType::f16) return launch_as<__half>(s, arrays, stream);
  launch_as<__nv_bfloat16>(s, arrays, stream);
}

}  // namespace plimsoll::cuda
