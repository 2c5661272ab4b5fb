// The gradient of attention for so few tokens that all of a head is in shared memory. A block stays
// on a multiprocessor and computes one head after the other; its warps take tiles of 32 keys, for
// which they compute dk and dv, and tiles of 32 queries, for dq. Each tile's scores are computed
// where they are needed, so that weights and their gradients go from product to product in
// registers: seven products instead of five, and no word between warps. Copies of heads to come are
// jobs among the others, so that no warp waits for memory in vain. Every sum has one order.
#include "backend/cuda/kernels/attention_short.cuh"
#include "backend/cuda/kernels/barrier.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionShape;

constexpr int kWarps = 8;
constexpr int kKeyTiles = 2;    ///< of 16 keys, in a job
constexpr int kQueryTiles = 2;  ///< of 16 queries
constexpr int kLoads = 4;       ///< jobs in which a head is copied
constexpr int kMostBuffers = 4;

template <typename T>
struct Arguments : ShortHeads {
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
  unsigned units;
  int buffers;       ///< heads in shared memory
  int buffer_bytes;  ///< each
};

/// A head in shared memory: the addresses of q, dy, k and v, whose rows end in whole steps, zeros
/// after the last token; for each query how far the scores' exponents are shifted, as power of two,
/// and what the gradients of its weights have in common; a bit for each key that counts.
struct Head {
  unsigned q;
  unsigned dy;
  unsigned k;
  unsigned v;
  const float2* rows;
  const unsigned* counted;
  int queries;
  int keys;
  int ahead;  ///< query i sees the keys up to i + ahead
  float scale;

  /// Which of the 16 keys from `first` on count, as bits.
  __device__ __forceinline__ unsigned counted_from(int first) const {
    return counted[first / kMaskKeys] >> first % kMaskKeys & 0xffffU;
  }
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
  unsigned tile_keys = 0;  // a bit for each
  if constexpr (kByKeys) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      tile_keys |= head.counted_from(first + m * kStep) << m * kStep;
    }
    if (tile_keys == 0) return;
  }
  constexpr unsigned kAllKeys = 0xffffffffU >> (32 - (kByKeys ? kTiles : 1) * kStep);
  for (int c = begin; c < end; c += kStep) {
    const unsigned keys = kByKeys ? tile_keys : head.counted_from(c);
    if (keys == 0) continue;
    const auto offset = static_cast<unsigned>(c * R::kBytes);
    const bool edge = keys != kAllKeys || c + kStep > columns ||
                      (kByKeys ? first + kTiles * kStep - 1 > c + head.ahead
                               : c + kStep - 1 > first + head.ahead);
    float score[kTiles][2][4] = {};
    float slope[kTiles][2][4] = {};
    float4 shifts[2] = {};
    unsigned b[2][2][4];
    load_matrices(b[0][0], column + offset + R::pair());
    load_matrices(b[0][1], column_value + offset + R::pair());
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (i + 1 < kParts) {
        const unsigned at = (R::pair() + offset) ^ static_cast<unsigned>((i + 1) << 5);
        load_matrices(b[(i + 1) % 2][0], column + at);
        load_matrices(b[(i + 1) % 2][1], column_value + at);
      } else if constexpr (kByKeys) {
        // In time for the weights, and no earlier, as registers are few.
        shifts[0] = *reinterpret_cast<const float4*>(head.rows + c + lane % 4 * 2);
        shifts[1] = *reinterpret_cast<const float4*>(head.rows + c + 8 + lane % 4 * 2);
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
      const float4 shift = shifts[n];
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
        const int key = kByKeys ? r - first : x - c;  // rows after the last are not stored
        const bool seen = static_cast<int>(x < columns) & static_cast<int>(keys >> key & 1U) &
                          (kByKeys ? r <= x + head.ahead : x <= r + head.ahead);
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
__device__ __forceinline__ void run_keys(const Arguments<T>& a, const Head& head, unsigned unit,
                                         int first) {
  float dk[kTiles][kSize / 8][4] = {};
  float dv[kTiles][kSize / 8][4] = {};
  const auto offset = static_cast<unsigned>(first * Rows<kSize>::kBytes);
  add_tile<T, kSize, kTiles, true>(head, first, head.k + offset, head.v + offset, head.q, head.dy,
                                   dk, dv);
  T* to_k = a.dk + unit_start(a.at_k, unit, a.heads);
  T* to_v = a.dv + unit_start(a.at_v, unit, a.heads);
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int row = first + m * kStep;
    store_rows<T, kSize>(to_k + row * a.at_k.row, a.at_k.row, dk[m], head.keys - row, head.scale,
                         head.scale);
    store_rows<T, kSize>(to_v + row * a.at_v.row, a.at_v.row, dv[m], head.keys - row, 1.0F, 1.0F);
  }
}

template <typename T, int kSize, int kTiles>
__device__ __forceinline__ void run_queries(const Arguments<T>& a, const Head& head, unsigned unit,
                                            int first) {
  float dq[kTiles][kSize / 8][4] = {};
  float none[kTiles][kSize / 8][4];
  const auto offset = static_cast<unsigned>(first * Rows<kSize>::kBytes);
  add_tile<T, kSize, kTiles, false>(head, first, head.q + offset, head.dy + offset, head.k, head.v,
                                    dq, none);
  T* to = a.dq + unit_start(a.at_q, unit, a.heads);
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    const int row = first + m * kStep;
    store_rows<T, kSize>(to + row * a.at_q.row, a.at_q.row, dq[m], head.queries - row, head.scale,
                         head.scale);
  }
}

/// A buffer's contents: q, dy, k, v, what a Head has for each query, and its bits.
template <typename T, int kSize>
__device__ __forceinline__ Head head_in(const Arguments<T>& a, std::byte* buffer) {
  const int query_bytes = whole_steps(a.queries) * Rows<kSize>::kBytes;
  const int key_bytes = whole_steps(a.keys) * Rows<kSize>::kBytes;
  Head head{};
  head.q = shared_address(buffer);
  head.dy = head.q + static_cast<unsigned>(query_bytes);
  head.k = head.dy + static_cast<unsigned>(query_bytes);
  head.v = head.k + static_cast<unsigned>(key_bytes);
  head.rows = reinterpret_cast<const float2*>(buffer + 2 * query_bytes + 2 * key_bytes);
  head.counted = reinterpret_cast<const unsigned*>(head.rows + whole_steps(a.queries));
  head.queries = a.queries;
  head.keys = a.keys;
  head.ahead = a.ahead;
  head.scale = a.scale;
  return head;
}

/// Steps `begin` to `end` of dy, and of what a Head has for each query: y dy less d_log_sums.
template <typename T, int kSize>
__device__ __forceinline__ void load_queries(const Arguments<T>& a, std::byte* buffer,
                                             unsigned unit, int begin, int end) {
  using R = Rows<kSize>;
  constexpr int kRows = 32 / R::kChunks;  // of a warp at a time
  constexpr int kTimes = kStep / kRows;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int chunk = lane % R::kChunks;
  const int query_bytes = whole_steps(a.queries) * R::kBytes;
  const int key_bytes = whole_steps(a.keys) * R::kBytes;
  std::byte* to = buffer + query_bytes;
  auto* rows = reinterpret_cast<float2*>(buffer + 2 * query_bytes + 2 * key_bytes);
  const std::int64_t first = static_cast<std::int64_t>(unit) * a.queries;
  const std::int64_t start = unit_start(a.at_y, unit, a.heads) +
                             (begin * kStep + lane / R::kChunks) * a.at_y.row + chunk * 8;
  const T* y = a.y + start;
  const T* dy = a.dy + start;
  for (int step = begin; step < end; ++step) {
    Vec<T> left[kTimes] = {};
    Vec<T> right[kTimes] = {};
    float log_sum = 0;
    float less = 0;
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      if (step * kStep + i * kRows + lane / R::kChunks < a.queries) {
        left[i] = load_vec<kVector<T>>(y);
        right[i] = load_vec<kVector<T>>(dy);
      }
      y += kRows * a.at_y.row;
      dy += kRows * a.at_y.row;
    }
    const int query = step * kStep + lane % kStep;
    if (query < a.queries) {
      log_sum = a.log_sums[first + query];
      if (a.d_log_sums != nullptr) less = a.d_log_sums[first + query];
    }
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      const int row = i * kRows + lane / R::kChunks;
      store_vec(reinterpret_cast<T*>(to + step * kStep * R::kBytes + R::at(row, chunk)), right[i]);
      float sum = 0;
#pragma unroll
      for (int l = 0; l < kVector<T>; ++l) sum += widen(left[i].lane[l]) * widen(right[i].lane[l]);
#pragma unroll
      for (int offset = R::kChunks / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(kWholeWarp, sum, offset);
      }
      const float of_row = __shfl_sync(kWholeWarp, less, row);
      if (chunk == 0) rows[step * kStep + row].y = sum - of_row;
    }
    if (lane < kStep) rows[query].x = log_sum * kLog2E;
  }
}

/// A part of a head's copy, of kLoads.
template <typename T, int kSize>
__device__ __forceinline__ void load_part(const Arguments<T>& a, std::byte* buffer, unsigned unit,
                                          int part) {
  const Head head = head_in<T, kSize>(a, buffer);
  const int query_steps = whole_steps(a.queries) / kStep;
  const int key_steps = whole_steps(a.keys) / kStep;
  const int queries = query_steps * part / kLoads;
  const int queries_end = query_steps * (part + 1) / kLoads;
  const int keys = key_steps * part / kLoads;
  const int keys_end = key_steps * (part + 1) / kLoads;
  copy_steps<T, kSize>(head.q, a.q + unit_start(a.at_q, unit, a.heads), a.at_q.row, a.queries,
                       queries, queries_end);
  copy_steps<T, kSize>(head.k, a.k + unit_start(a.at_k, unit, a.heads), a.at_k.row, a.keys, keys,
                       keys_end);
  copy_steps<T, kSize>(head.v, a.v + unit_start(a.at_v, unit, a.heads), a.at_v.row, a.keys, keys,
                       keys_end);
  load_queries<T, kSize>(a, buffer, unit, queries, queries_end);
  find_keys(const_cast<unsigned*>(head.counted), a, unit, part, kLoads);
  wait_for_copies();
}

/// Job `job` of a head: large tiles first, and of them those that take longest where causal.
template <typename T, int kSize>
__device__ __forceinline__ void run_job(const Arguments<T>& a, const Head& head, unsigned unit,
                                        int job) {
  const int keys = whole_steps(a.keys);
  const int queries = whole_steps(a.queries);
  const int key_tiles = keys / (kKeyTiles * kStep);
  const int tiles = key_tiles + queries / (kQueryTiles * kStep);
  if (job < key_tiles) {
    run_keys<T, kSize, kKeyTiles>(a, head, unit, job * kKeyTiles * kStep);
  } else if (job < tiles) {
    run_queries<T, kSize, kQueryTiles>(a, head, unit, (tiles - 1 - job) * kQueryTiles * kStep);
  } else if (job == tiles && keys % (kKeyTiles * kStep) != 0) {
    run_keys<T, kSize, 1>(a, head, unit, keys - kStep);
  } else {
    run_queries<T, kSize, 1>(a, head, unit, queries - kStep);
  }
}

#endif

/// Jobs of a head, without its copy.
__host__ __device__ constexpr int jobs_of(int queries, int keys) {
  constexpr int kKeys = kKeyTiles * kStep;
  constexpr int kQueries = kQueryTiles * kStep;
  return (keys + kKeys - 1) / kKeys + (queries + kQueries - 1) / kQueries;
}

struct Control {
  RoundBarrier loaded[kMostBuffers];  ///< all parts of a head are there; a round for each head
  RoundBarrier done[kMostBuffers];    ///< all jobs of a head
  int next;
};

/// Blocks take units in turn. Head n of a block, unit blockIdx.x + n * gridDim.x, is in buffer
/// n % buffers. Jobs are taken in one order: those of head n, and among them the copy of head
/// n + buffers - 1 to where head n - 1 was. A job waits only for such as were taken before it.
template <typename T, int kSize>
__global__ void __launch_bounds__(kWarps * 32, 1) short_grad_kernel(Arguments<T> a) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) std::byte memory[];
  auto* control = reinterpret_cast<Control*>(memory + a.buffers * a.buffer_bytes);
  const int heads = static_cast<int>((a.units - blockIdx.x + gridDim.x - 1) / gridDim.x);
  const int jobs = jobs_of(a.queries, a.keys);
  const auto buffer = [&](int n) { return memory + n % a.buffers * a.buffer_bytes; };
  const auto unit = [&](int n) { return blockIdx.x + static_cast<unsigned>(n) * gridDim.x; };
  const auto load = [&](int n, int part) {
    if (n >= a.buffers) control->done[n % a.buffers].wait(n / a.buffers - 1);
    load_part<T, kSize>(a, buffer(n), unit(n), part);
    control->loaded[n % a.buffers].arrive();
  };
  if (threadIdx.x == 0) {
    control->next = 0;
    for (int i = 0; i < a.buffers; ++i) {
      control->loaded[i].begin(kLoads * 32);
      control->done[i].begin(jobs * 32);
    }
  }
  __syncthreads();

  const int before = min(heads, a.buffers - 1);
  // With one buffer a head is copied before its jobs, else when most of its predecessor is done.
  const int loads_at = a.buffers == 1 ? 0 : jobs / 2;
  int job = static_cast<int>(threadIdx.x / 32);
  for (; job < before * kLoads; job += kWarps) load(job / kLoads, job % kLoads);
  for (;;) {
    if (threadIdx.x % 32 == 0) job = atomicAdd(&control->next, 1);
    job = __shfl_sync(kWholeWarp, job, 0);
    const int n = job / (jobs + kLoads);
    int of_head = job % (jobs + kLoads);
    if (n >= heads) return;
    if (of_head >= loads_at && of_head < loads_at + kLoads) {
      const int next = n + a.buffers - 1;
      if (next < heads) load(next, of_head - loads_at);
      continue;
    }
    if (of_head >= loads_at) of_head -= kLoads;
    control->loaded[n % a.buffers].wait(n / a.buffers);
    run_job<T, kSize>(a, head_in<T, kSize>(a, buffer(n)), unit(n), of_head);
    control->done[n % a.buffers].arrive();
  }
#endif
}

/// Of one head.
int buffer_bytes(const AttentionShape& s) {
  const int queries = whole_steps(static_cast<int>(s.queries));
  const int keys = whole_steps(static_cast<int>(s.keys));
  const int bytes = 2 * (queries + keys) * static_cast<int>(s.size) * 2 +
                    queries * static_cast<int>(sizeof(float2)) +
                    kMaskWords * static_cast<int>(sizeof(unsigned));
  return (bytes + 127) / 128 * 128;
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  check(cudaGetDevice(&device), "attention_grad");
  check(cudaDeviceGetAttribute(&value, which, device), "attention_grad");
  return value;
}

int buffers_of(const AttentionShape& s) {
  const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return std::min(kMostBuffers, (most - static_cast<int>(sizeof(Control))) / buffer_bytes(s));
}

template <typename T, int kSize>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  check(cudaFuncSetAttribute(short_grad_kernel<T, kSize>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "attention_grad");
  const auto blocks =
      std::min(a.units, static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount)));
  const auto shared = static_cast<std::size_t>(a.buffers * a.buffer_bytes) + sizeof(Control);
  short_grad_kernel<T, kSize><<<blocks, kWarps * 32, shared, stream>>>(a);
  check_launch("attention_grad");
}

template <typename T>
void launch_as(const AttentionShape& s, const AttentionArrays& arrays, cudaStream_t stream) {
  Arguments<T> a{};
  static_cast<ShortHeads&>(a) = short_heads(s, arrays);
  a.q = static_cast<const T*>(arrays.q);
  a.k = static_cast<const T*>(arrays.k);
  a.v = static_cast<const T*>(arrays.v);
  a.y = static_cast<const T*>(arrays.y);
  a.dy = static_cast<const T*>(arrays.dy);
  a.log_sums = static_cast<const float*>(arrays.log_sums);
  a.d_log_sums = static_cast<const float*>(arrays.d_log_sums);
  a.dq = static_cast<T*>(arrays.dq);
  a.dk = static_cast<T*>(arrays.dk);
  a.dv = static_cast<T*>(arrays.dv);
  a.units = static_cast<unsigned>(s.units());
  a.buffers = buffers_of(s);
  a.buffer_bytes = buffer_bytes(s);
  if (a.buffers <= 0) {
    throw DeviceError("[attention_grad] was prepared for another kind of device than it runs on");
  }
  if (s.size == 64) return launch<T, 64>(a, stream);
  launch<T, 32>(a, stream);
}

}  // namespace

bool short_attention_fits(const AttentionShape& s) {
  return attribute(cudaDevAttrComputeCapabilityMajor) >= 8 && buffers_of(s) > 0;
}

void short_attention_grad(const AttentionShape& s, DType dtype, const AttentionArrays& arrays,
                          cudaStream_t stream) {
  if (s.units() == 0) return;
  if (dtype == DType::f16) return launch_as<__half>(s, arrays, stream);
  launch_as<__nv_bfloat16>(s, arrays, stream);
}

}  // namespace plimsoll::cuda
