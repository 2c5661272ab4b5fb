// The gradient of attention for so few tokens that all of a head is in shared memory. A block has
// one head; its warps take tiles of 32 keys, for which they compute dk and dv, and tiles of 32
// queries, for dq. Each tile's scores are computed where they are needed, so that weights and their
// gradients go from product to product in registers: seven products instead of five, without a word
// between the warps. Every sum has one order, whichever warp takes a tile.
#include "backend/cuda/attention_short.cuh"
#include "backend/cuda/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionLayout;
using ops::AttentionShape;

constexpr int kMostThreads = 256;

template <typename T>
struct Arguments {
  const T* q;
  const T* k;
  const T* v;
  const T* y;
  const T* dy;
  const float* log_sums;
  const float* d_log_sums;
  T* dq;
  T* dk;
  T* dv;
  AttentionLayout at_q;
  AttentionLayout at_k;
  AttentionLayout at_v;
  AttentionLayout at_y;
  int heads;
  int queries;
  int keys;
  bool causal;
  float scale;
};

/// A head in shared memory: for each of q, dy, k and v the address of its rows, which end in whole
/// steps, zeros after the last token; and for each query how far the scores' exponents are shifted,
/// as power of two, and what the gradients of its weights have in common.
struct Head {
  unsigned q;
  unsigned dy;
  unsigned k;
  unsigned v;
  const float2* rows;
  int queries;
  int keys;
  int ahead;  ///< query i sees the keys up to i + ahead
  float scale;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// Scores are a tile of kTiles * 16 rows times steps of 16 columns: keys times queries (kByKeys)
/// or queries times keys. `row`, `row_value`: the address of the tile in k and v, or in q and dy;
/// `column`, `column_value`: of the first row of the others. On return `by_score` has the scores'
/// gradients times the columns, `by_weight` the weights times the columns' values (kByKeys only).
template <typename T, int kSize, int kTiles, bool kByKeys>
__device__ __forceinline__ void add_tile(const Head& head, int first, unsigned row,
                                         unsigned row_value, unsigned column, unsigned column_value,
                                         float (&by_score)[kTiles][kSize / 8][4],
                                         float (&by_weight)[kTiles][kSize / 8][4]) {
  using R = Rows<kSize>;
  constexpr int kParts = kSize / 16;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const float exponent = head.scale * kLog2E;
  unsigned rows[kTiles][kParts][4];
  unsigned row_values[kTiles][kParts][4];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const unsigned at = (R::square() + static_cast<unsigned>(m * kStep * R::kBytes)) ^
                          static_cast<unsigned>(i << 5);
      load_matrices(rows[m][i], row + at);
      load_matrices(row_values[m][i], row_value + at);
    }
  }
  // Of queries, their shifts are those of the rows.
  float2 row_shift[kTiles][2];
  if constexpr (!kByKeys) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      row_shift[m][0] = head.rows[first + m * kStep + lane / 4];
      row_shift[m][1] = head.rows[first + m * kStep + lane / 4 + 8];
    }
  }
  const int columns = kByKeys ? head.queries : head.keys;
  const int begin = kByKeys ? max(0, first - head.ahead) / kStep * kStep : 0;
  const int end = kByKeys ? columns : min(columns, first + kTiles * kStep + head.ahead);
  for (int c = begin; c < end; c += kStep) {
    const auto offset = static_cast<unsigned>(c * R::kBytes);
    const bool edge = c + kStep > columns || (kByKeys ? first + kTiles * kStep - 1 > c + head.ahead
                                                      : c + kStep - 1 > first + head.ahead);
    float score[kTiles][2][4] = {};
    float slope[kTiles][2][4] = {};
    unsigned b[2][2][4];
    load_matrices(b[0][0], column + offset + R::pair());
    load_matrices(b[0][1], column_value + offset + R::pair());
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (i + 1 < kParts) {
        const unsigned at = (R::pair() + offset) ^ static_cast<unsigned>((i + 1) << 5);
        load_matrices(b[(i + 1) % 2][0], column + at);
        load_matrices(b[(i + 1) % 2][1], column_value + at);
      }
      const auto& of = b[i % 2];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<T>(score[m][n], rows[m][i], of[0][2 * n], of[0][2 * n + 1]);
        }
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<T>(slope[m][n], row_values[m][i], of[1][2 * n], of[1][2 * n + 1]);
        }
      }
    }
    // The first of what comes after; it is there when the weights are.
    load_transposed(b[0][0], column + offset + R::square());
    if constexpr (kByKeys) load_transposed(b[0][1], column_value + offset + R::square());
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      float4 shift = {};
      if constexpr (kByKeys) {
        shift = *reinterpret_cast<const float4*>(head.rows + c + n * 8 + lane % 4 * 2);
      }
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 of = !kByKeys     ? row_shift[m][i / 2]
                            : i % 2 == 0 ? make_float2(shift.x, shift.y)
                                         : make_float2(shift.z, shift.w);
          score[m][n][i] = power_of_two(score[m][n][i] * exponent - of.x);
          slope[m][n][i] = score[m][n][i] * (slope[m][n][i] - of.y);
        }
      }
    }
    if (edge) {
#pragma unroll
      for (int i = 0; i < kTiles * 8; ++i) {
        const int m = i / 8;
        const int n = i / 4 % 2;
        const int r = first + m * kStep + i / 2 % 2 * 8 + lane / 4;
        const int x = c + n * 8 + lane % 4 * 2 + i % 2;
        // Rows after the last are not stored.
        const bool seen =
            static_cast<int>(x < columns) & (kByKeys ? r <= x + head.ahead : x <= r + head.ahead);
        score[m][n][i % 4] = seen ? score[m][n][i % 4] : 0.0F;
        slope[m][n][i % 4] = seen ? slope[m][n][i % 4] : 0.0F;
      }
    }
    unsigned weights[kTiles][4];
    unsigned slopes[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&weight)[4] = score[m][i / 2];
        const float(&change)[4] = slope[m][i / 2];
        if constexpr (kByKeys) weights[m][i] = pack<T>(weight[i % 2 * 2], weight[i % 2 * 2 + 1]);
        slopes[m][i] = pack<T>(change[i % 2 * 2], change[i % 2 * 2 + 1]);
      }
    }
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (i + 1 < kParts) {
        const unsigned at = (R::square() + offset) ^ static_cast<unsigned>((i + 1) << 5);
        load_transposed(b[(i + 1) % 2][0], column + at);
        if constexpr (kByKeys) load_transposed(b[(i + 1) % 2][1], column_value + at);
      }
      const auto& of = b[i % 2];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<T>(by_score[m][i * 2 + n], slopes[m], of[0][2 * n], of[0][2 * n + 1]);
          if constexpr (kByKeys) {
            multiply_add<T>(by_weight[m][i * 2 + n], weights[m], of[1][2 * n], of[1][2 * n + 1]);
          }
        }
      }
    }
  }
}

template <typename T, int kSize, int kTiles>
__device__ __forceinline__ void run_keys(const Arguments<T>& a, const Head& head, int first) {
  float dk[kTiles][kSize / 8][4] = {};
  float dv[kTiles][kSize / 8][4] = {};
  const auto offset = static_cast<unsigned>(first * Rows<kSize>::kBytes);
  add_tile<T, kSize, kTiles, true>(head, first, head.k + offset, head.v + offset, head.q, head.dy,
                                   dk, dv);
  T* to_k = a.dk + unit_start(a.at_k, a.heads);
  T* to_v = a.dv + unit_start(a.at_v, a.heads);
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int row = first + m * kStep;
    store_rows<T, kSize>(to_k + row * a.at_k.row, a.at_k.row, dk[m], head.keys - row, head.scale,
                         head.scale);
    store_rows<T, kSize>(to_v + row * a.at_v.row, a.at_v.row, dv[m], head.keys - row, 1.0F, 1.0F);
  }
}

template <typename T, int kSize, int kTiles>
__device__ __forceinline__ void run_queries(const Arguments<T>& a, const Head& head, int first) {
  float dq[kTiles][kSize / 8][4] = {};
  float none[kTiles][kSize / 8][4];
  const auto offset = static_cast<unsigned>(first * Rows<kSize>::kBytes);
  add_tile<T, kSize, kTiles, false>(head, first, head.q + offset, head.dy + offset, head.k, head.v,
                                    dq, none);
  T* to = a.dq + unit_start(a.at_q, a.heads);
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int row = first + m * kStep;
    store_rows<T, kSize>(to + row * a.at_q.row, a.at_q.row, dq[m], head.queries - row, head.scale,
                         head.scale);
  }
}

/// Copies dy, and writes rows[i].y: the sum of y dy, less what comes in by the sums themselves.
template <typename T, int kSize>
__device__ __forceinline__ void copy_and_multiply(const Arguments<T>& a, std::byte* to,
                                                  float2* rows) {
  using R = Rows<kSize>;
  constexpr int kAtATime = 8;
  const T* y = a.y + unit_start(a.at_y, a.heads);
  const T* dy = a.dy + unit_start(a.at_y, a.heads);
  const int chunks = whole_steps(a.queries) * R::kChunks;
  const auto threads = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < chunks; i += kAtATime * threads) {
    Vec<T> left[kAtATime] = {};
    Vec<T> right[kAtATime] = {};
#pragma unroll
    for (int j = 0; j < kAtATime; ++j) {
      const int row = (i + j * threads) / R::kChunks;
      if (row >= a.queries) continue;
      const std::int64_t at = row * a.at_y.row + (i + j * threads) % R::kChunks * 8;
      left[j] = load_vec<kVector<T>>(y + at);
      right[j] = load_vec<kVector<T>>(dy + at);
    }
#pragma unroll
    for (int j = 0; j < kAtATime; ++j) {
      // Whole warps at a time: steps have a multiple of 32 chunks.
      if (i + j * threads >= chunks) break;
      const int row = (i + j * threads) / R::kChunks;
      const int chunk = (i + j * threads) % R::kChunks;
      store_vec(reinterpret_cast<T*>(to + R::at(row, chunk)), right[j]);
      float sum = 0;
#pragma unroll
      for (int l = 0; l < kVector<T>; ++l) sum += widen(left[j].lane[l]) * widen(right[j].lane[l]);
#pragma unroll
      for (int offset = R::kChunks / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(kWholeWarp, sum, offset);
      }
      if (chunk == 0) {
        const bool more = a.d_log_sums != nullptr && row < a.queries;
        const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * a.queries + row;
        rows[row].y = sum - (more ? a.d_log_sums[at] : 0.0F);
      }
    }
  }
}

#endif

template <typename T, int kSize>
__global__ void __launch_bounds__(kMostThreads, 1) short_grad_kernel(Arguments<T> a) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) std::byte memory[];
  const int queries = whole_steps(a.queries);
  const int keys = whole_steps(a.keys);
  const int query_bytes = queries * Rows<kSize>::kBytes;
  const int key_bytes = keys * Rows<kSize>::kBytes;
  std::byte* after = memory + 2 * query_bytes + 2 * key_bytes;
  auto* rows = reinterpret_cast<float2*>(after);
  auto* next = reinterpret_cast<int*>(rows + queries);
  Head head{};
  head.q = shared_address(memory);
  head.dy = head.q + static_cast<unsigned>(query_bytes);
  head.k = head.dy + static_cast<unsigned>(query_bytes);
  head.v = head.k + static_cast<unsigned>(key_bytes);
  head.rows = rows;
  head.queries = a.queries;
  head.keys = a.keys;
  head.ahead = a.causal ? a.keys - a.queries : a.keys;
  head.scale = a.scale;

  copy_rows<T, kSize>(head.q, a.q + unit_start(a.at_q, a.heads), a.at_q.row, a.queries, queries);
  copy_rows<T, kSize>(head.k, a.k + unit_start(a.at_k, a.heads), a.at_k.row, a.keys, keys);
  copy_rows<T, kSize>(head.v, a.v + unit_start(a.at_v, a.heads), a.at_v.row, a.keys, keys);
  for (int i = static_cast<int>(threadIdx.x); i < queries; i += static_cast<int>(blockDim.x)) {
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * a.queries + i;
    rows[i].x = i < a.queries ? a.log_sums[at] * kLog2E : 0.0F;
  }
  copy_and_multiply<T, kSize>(a, memory + query_bytes, rows);
  if (threadIdx.x == 0) *next = 0;
  wait_for_copies();
  __syncthreads();

  // The large tiles first, and of them what takes longest where causal.
  const int key_pairs = keys / (2 * kStep);
  const int query_pairs = queries / (2 * kStep);
  const int pairs = key_pairs + query_pairs;
  const int odd_keys = keys / kStep % 2;
  const int odd_queries = queries / kStep % 2;
  for (;;) {
    int job = 0;
    if (threadIdx.x % 32 == 0) job = atomicAdd(next, 1);
    job = __shfl_sync(kWholeWarp, job, 0);
    if (job >= pairs + odd_keys + odd_queries) return;
    if (job < key_pairs) {
      run_keys<T, kSize, 2>(a, head, job * 2 * kStep);
    } else if (job < pairs) {
      run_queries<T, kSize, 2>(a, head, (pairs - 1 - job) * 2 * kStep);
    } else if (job < pairs + odd_keys) {
      run_keys<T, kSize, 1>(a, head, keys - kStep);
    } else {
      run_queries<T, kSize, 1>(a, head, queries - kStep);
    }
  }
#endif
}

std::size_t shared_bytes(const AttentionShape& s) {
  const auto steps = [](std::int64_t tokens) { return (tokens + kStep - 1) / kStep * kStep; };
  return static_cast<std::size_t>(2 * (steps(s.queries) + steps(s.keys)) * s.size * 2 +
                                  steps(s.queries) * std::int64_t{sizeof(float2)} + 16);
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "attention_grad");
  check(cudaDeviceGetAttribute(&value, which, device), "attention_grad");
  return value;
}

template <typename T, int kSize>
void launch(const Arguments<T>& a, const AttentionShape& s, cudaStream_t stream) {
  const std::size_t shared = shared_bytes(s);
  check(
      cudaFuncSetAttribute(short_grad_kernel<T, kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
      "attention_grad");
  // Registers are for eight warps, and shared memory for two heads if these are small.
  constexpr std::size_t kHalf = std::size_t{112} << 10;
  const std::int64_t tiles =
      (s.keys + 2 * kStep - 1) / (2 * kStep) + (s.queries + 2 * kStep - 1) / (2 * kStep);
  const std::int64_t warps = std::min<std::int64_t>(tiles, shared <= kHalf ? 4 : 8);
  short_grad_kernel<T, kSize>
      <<<static_cast<unsigned>(s.units()), static_cast<unsigned>(warps) * 32, shared, stream>>>(a);
  check_launch("attention_grad");
}

template <typename T>
void launch_as(const AttentionShape& s, const AttentionArrays& arrays, cudaStream_t stream) {
  const Arguments<T> a{.q = static_cast<const T*>(arrays.q),
                       .k = static_cast<const T*>(arrays.k),
                       .v = static_cast<const T*>(arrays.v),
                       .y = static_cast<const T*>(arrays.y),
                       .dy = static_cast<const T*>(arrays.dy),
                       .log_sums = static_cast<const float*>(arrays.log_sums),
                       .d_log_sums = static_cast<const float*>(arrays.d_log_sums),
                       .dq = static_cast<T*>(arrays.dq),
                       .dk = static_cast<T*>(arrays.dk),
                       .dv = static_cast<T*>(arrays.dv),
                       .at_q = s.q,
                       .at_k = s.k,
                       .at_v = s.v,
                       .at_y = s.y,
                       .heads = static_cast<int>(s.heads),
                       .queries = static_cast<int>(s.queries),
                       .keys = static_cast<int>(s.keys),
                       .causal = s.causal,
                       .scale = static_cast<float>(s.scale)};
  if (s.size == 64) return launch<T, 64>(a, s, stream);
  launch<T, 32>(a, s, stream);
}

}  // namespace

bool short_attention_fits(const AttentionShape& s) {
  return attribute(cudaDevAttrComputeCapabilityMajor) >= 8 &&
         shared_bytes(s) <=
             static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

void short_attention_grad(const AttentionShape& s, DType dtype, const AttentionArrays& arrays,
                          cudaStream_t stream) {
  if (s.units() == 0) return;
  if (dtype == DType::f16) return launch_as<__half>(s, arrays, stream);
  launch_as<__nv_bfloat16>(s, arrays, stream);
}

}  // namespace plimsoll::cuda
