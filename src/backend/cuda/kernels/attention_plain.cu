// Attention in tiles of 32 tokens: a block has 32 rows, a warp four of them, and a lane one column
// of the scores at a time. Every sum has one order, and no score is stored.
#include <limits>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionLayout;
using ops::AttentionShape;

constexpr int kTile = 32;
constexpr int kWarps = 8;
constexpr int kRows = kTile / kWarps;  ///< of a warp
constexpr int kGroups = 4;             ///< of 32 columns of the result in one block
constexpr unsigned kAll = 0xffffffffU;

/// A tile of a matrix; padded, so that a column's elements are in different banks.
template <typename A>
using Tile = A[kTile][kTile + 1];

/// The rows of one unit in an array.
template <typename T>
struct Matrix {
  const T* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t columns;
};

/// Tile (row, column) of a matrix, with zeros around it. All threads of the block take part.
template <typename T>
__device__ void load_tile(Tile<Acc<T>>& tile, const Matrix<T>& m, std::int64_t row,
                          std::int64_t column) {
  const int lane = threadIdx.x % 32;
  for (int r = threadIdx.x / 32; r < kTile; r += kWarps) {
    const bool inside = row + r < m.rows && column + lane < m.columns;
    tile[r][lane] = inside ? widen(m.data[(row + r) * m.stride + column + lane]) : Acc<T>(0);
  }
}

/// to[r] += the warp's row r of `rows` times the lane's row of `columns`, both from a tile on.
template <typename T>
__device__ void add_dots(Acc<T>* to, Tile<Acc<T>>& row_tile, Tile<Acc<T>>& column_tile,
                         const Matrix<T>& rows, std::int64_t row, const Matrix<T>& columns,
                         std::int64_t column) {
  const int lane = threadIdx.x % 32;
  const int first = threadIdx.x / 32 * kRows;
  for (std::int64_t c = 0; c < rows.columns; c += kTile) {
    __syncthreads();
    load_tile(row_tile, rows, row, c);
    load_tile(column_tile, columns, column, c);
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < kTile; ++i) {
      const Acc<T> other = column_tile[lane][i];
#pragma unroll
      for (int r = 0; r < kRows; ++r) to[r] += row_tile[first + r][i] * other;
    }
  }
}

/// to[r][g] += the sum over the tile's tokens t of lane t's weights[r] times m(token, column g).
template <typename T>
__device__ void add_weighted(Acc<T> (&to)[kRows][kGroups], const Acc<T> (&weights)[kRows],
                             Tile<Acc<T>>& tile, const Matrix<T>& m, std::int64_t token,
                             std::int64_t column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    if (column + g * kTile >= m.columns) break;
    __syncthreads();
    load_tile(tile, m, token, column + g * kTile);
    __syncthreads();
#pragma unroll 8
    for (int t = 0; t < kTile; ++t) {
      const Acc<T> value = tile[t][lane];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        to[r][g] += __shfl_sync(kAll, weights[r], t) * value;
      }
    }
  }
}

template <typename A>
__device__ __forceinline__ A warp_max(A value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmax(value, __shfl_xor_sync(kAll, value, offset));
  }
  return value;
}
template <typename A>
__device__ __forceinline__ A warp_sum(A value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kAll, value, offset);
  return value;
}

/// What kernels read of a shape.
struct Extents {
  std::int64_t heads;
  std::int64_t group;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t size;
  std::int64_t value_size;
  bool causal;
  double scale;
  const bool* mask;
  std::int64_t mask_batches;

  /// The unit of k and v that `unit` reads.
  __device__ std::int64_t key_unit(std::int64_t unit) const {
    return unit / heads * (heads / group) + unit % heads / group;
  }
  /// The unit's row of the mask; null where there is none.
  __device__ const bool* mask_of(std::int64_t unit) const {
    return mask == nullptr ? nullptr : mask + unit / heads / mask_batches * keys;
  }
  __device__ std::int64_t seen(std::int64_t query) const {
    if (!causal) return keys;
    const std::int64_t count = query + 1 + keys - queries;
    return count < 0 ? 0 : count > keys ? keys : count;
  }
};

/// Where unit `unit` begins, of which a batch has `heads`.
__device__ __forceinline__ std::int64_t start_of(const AttentionLayout& at, std::int64_t heads,
                                                 std::int64_t unit) {
  return at.start + unit / heads * at.batch + unit % heads * at.head;
}

template <typename T>
struct ForwardArguments {
  Extents extents;
  const T* q;
  const T* k;
  const T* v;
  T* y;
  Acc<T>* log_sums;
  AttentionLayout at_q;
  AttentionLayout at_k;
  AttentionLayout at_v;
  AttentionLayout at_y;
};

template <typename T>
__global__ void __launch_bounds__(kWarps * 32) forward_kernel(ForwardArguments<T> a) {
  using A = Acc<T>;
  __shared__ Tile<A> row_tile;
  __shared__ Tile<A> column_tile;
  const Extents& e = a.extents;
  const std::int64_t tiles = (e.queries + kTile - 1) / kTile;
  const std::int64_t unit = blockIdx.x / tiles;
  const std::int64_t q0 = blockIdx.x % tiles * kTile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kGroups * kTile;
  const int lane = threadIdx.x % 32;
  const std::int64_t first = q0 + threadIdx.x / 32 * kRows;
  const std::int64_t key_unit = e.key_unit(unit);
  const std::int64_t key_heads = e.heads / e.group;
  const Matrix<T> q{a.q + start_of(a.at_q, e.heads, unit), a.at_q.row, e.queries, e.size};
  const Matrix<T> k{a.k + start_of(a.at_k, key_heads, key_unit), a.at_k.row, e.keys, e.size};
  const Matrix<T> v{a.v + start_of(a.at_v, key_heads, key_unit), a.at_v.row, e.keys, e.value_size};
  const bool* mask = e.mask_of(unit);
  const A lowest = -std::numeric_limits<A>::infinity();
  const A scale = static_cast<A>(e.scale);

  A highest[kRows];
  A sums[kRows];
  A values[kRows][kGroups] = {};
  for (int r = 0; r < kRows; ++r) {
    highest[r] = lowest;
    sums[r] = A(0);
  }
  const std::int64_t bottom = q0 + kTile < e.queries ? q0 + kTile - 1 : e.queries - 1;
  const std::int64_t last = e.seen(bottom);
  for (std::int64_t k0 = 0; k0 < last; k0 += kTile) {
    A weights[kRows] = {};
    add_dots(weights, row_tile, column_tile, q, q0, k, k0);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const bool valid = first + r < e.queries && k0 + lane < e.seen(first + r) &&
                         (mask == nullptr || mask[k0 + lane]);
      const A score = weights[r] * scale;
      const A top = fmax(highest[r], warp_max(valid ? score : lowest));
      // Without a key in this tile nothing changes.
      if (!__any_sync(kAll, valid)) {
        weights[r] = A(0);
        continue;
      }
      const A factor = highest[r] == top ? A(1) : exp(highest[r] - top);
      weights[r] = valid ? exp(score - top) : A(0);
      sums[r] = sums[r] * factor + warp_sum(weights[r]);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) values[r][g] *= factor;
      highest[r] = top;
    }
    add_weighted(values, weights, column_tile, v, k0, column);
  }
  T* y = a.y + start_of(a.at_y, e.heads, unit);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t query = first + r;
    if (query >= e.queries) break;
    const bool blind = sums[r] == A(0);  // it sees no key
    const A factor = blind ? A(0) : A(1) / sums[r];
    if (blockIdx.y == 0 && lane == 0) {
      a.log_sums[unit * e.queries + query] = blind ? A(0) : highest[r] + log(sums[r]);
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const std::int64_t at = column + g * kTile + lane;
      if (at < e.value_size) y[query * a.at_y.row + at] = narrow<T>(values[r][g] * factor);
    }
  }
}

/// A warp per query: the sum of y dy, less what comes in by the sums themselves.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32)
    delta_kernel(Extents e, std::int64_t rows, const T* y, const T* dy, AttentionLayout at,
                 const Acc<T>* d_log_sums, Acc<T>* deltas) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < rows; row += warps) {
    const std::int64_t start = row % e.queries * at.row;
    const std::int64_t unit = start_of(at, e.heads, row / e.queries);
    const T* a = y + unit + start;
    const T* b = dy + unit + start;
    Acc<T> sum = 0;
    for (std::int64_t i = lane; i < e.value_size; i += 32) sum += widen(a[i]) * widen(b[i]);
    sum = warp_sum(sum);
    if (lane == 0) deltas[row] = sum - (d_log_sums == nullptr ? Acc<T>(0) : d_log_sums[row]);
  }
}

/// One of the three gradients. Its rows are queries (dq) or keys (dk, dv), the columns of scores
/// the other ones. It is the sum over them of their weights, or of the scores' gradients, times
/// `other`.
template <typename T>
struct BackwardArguments {
  Extents extents;
  bool rows_are_queries;
  bool by_weight;  ///< dv
  const T* row_keys;
  const T* row_values;
  const T* column_keys;
  const T* column_values;
  const T* other;
  T* to;
  AttentionLayout at_row_keys;
  AttentionLayout at_row_values;
  AttentionLayout at_column_keys;
  AttentionLayout at_column_values;
  AttentionLayout at_other;
  AttentionLayout at_to;
  const Acc<T>* log_sums;
  const Acc<T>* deltas;
};

template <typename T>
__global__ void __launch_bounds__(kWarps * 32) backward_kernel(BackwardArguments<T> a) {
  using A = Acc<T>;
  __shared__ Tile<A> row_tile;
  __shared__ Tile<A> column_tile;
  const Extents& e = a.extents;
  const std::int64_t rows = a.rows_are_queries ? e.queries : e.keys;
  const std::int64_t columns = a.rows_are_queries ? e.keys : e.queries;
  const std::int64_t width = a.by_weight ? e.value_size : e.size;
  const std::int64_t tiles = (rows + kTile - 1) / kTile;
  // Of what the rows are of; a batch has `row_heads` of them, and `column_heads` of the others.
  const std::int64_t row_unit = blockIdx.x / tiles;
  const std::int64_t key_heads = e.heads / e.group;
  const std::int64_t row_heads = a.rows_are_queries ? e.heads : key_heads;
  const std::int64_t column_heads = a.rows_are_queries ? key_heads : e.heads;
  const std::int64_t r0 = blockIdx.x % tiles * kTile;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kGroups * kTile;
  const int lane = threadIdx.x % 32;
  const std::int64_t first = r0 + threadIdx.x / 32 * kRows;
  const Matrix<T> row_keys{a.row_keys + start_of(a.at_row_keys, row_heads, row_unit),
                           a.at_row_keys.row, rows, e.size};
  const Matrix<T> row_values{a.row_values + start_of(a.at_row_values, row_heads, row_unit),
                             a.at_row_values.row, rows, e.value_size};
  const A scale = static_cast<A>(e.scale);

  // Columns that some row of the tile may see, or be seen by.
  std::int64_t begin = 0;
  std::int64_t end = columns;
  if (e.causal && a.rows_are_queries) {
    end = e.seen(r0 + kTile < rows ? r0 + kTile - 1 : rows - 1);
  } else if (e.causal) {
    begin = r0 + e.queries - e.keys;
    begin = begin < 0 ? 0 : begin / kTile * kTile;
  }
  A sums[kRows][kGroups] = {};
  // A head of keys is read by all heads of its group.
  const std::int64_t units = a.rows_are_queries ? 1 : e.group;
  for (std::int64_t of_group = 0; of_group < units; ++of_group) {
    const std::int64_t unit = a.rows_are_queries ? row_unit : row_unit * e.group + of_group;
    const std::int64_t column_unit = a.rows_are_queries ? e.key_unit(unit) : unit;
    const Matrix<T> column_keys{
        a.column_keys + start_of(a.at_column_keys, column_heads, column_unit), a.at_column_keys.row,
        columns, e.size};
    const Matrix<T> column_values{
        a.column_values + start_of(a.at_column_values, column_heads, column_unit),
        a.at_column_values.row, columns, e.value_size};
    const Matrix<T> other{a.other + start_of(a.at_other, column_heads, column_unit), a.at_other.row,
                          columns, width};
    const A* log_sums = a.log_sums + unit * e.queries;
    const A* deltas = a.deltas + unit * e.queries;
    const bool* mask = e.mask_of(unit);
    for (std::int64_t c0 = begin; c0 < end; c0 += kTile) {
      A weights[kRows] = {};
      A products[kRows] = {};
      add_dots(weights, row_tile, column_tile, row_keys, r0, column_keys, c0);
      if (!a.by_weight) {
        add_dots(products, row_tile, column_tile, row_values, r0, column_values, c0);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t query = a.rows_are_queries ? first + r : c0 + lane;
        const std::int64_t key = a.rows_are_queries ? c0 + lane : first + r;
        A weight = 0;
        if (query < e.queries && key < e.keys && key < e.seen(query) &&
            (mask == nullptr || mask[key])) {
          weight = exp(weights[r] * scale - log_sums[query]);
          if (!a.by_weight) weight = weight * (products[r] - deltas[query]) * scale;
        }
        weights[r] = weight;
      }
      add_weighted(sums, weights, column_tile, other, c0, column);
    }
  }
  T* to = a.to + start_of(a.at_to, row_heads, row_unit);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (first + r >= rows) break;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const std::int64_t at = column + g * kTile + lane;
      if (at < width) to[(first + r) * a.at_to.row + at] = narrow<T>(sums[r][g]);
    }
  }
}

Extents extents_of(const AttentionShape& s, const AttentionArrays& arrays) {
  return {.heads = s.heads,
          .group = s.group,
          .queries = s.queries,
          .keys = s.keys,
          .size = s.size,
          .value_size = s.value_size,
          .causal = s.causal,
          .scale = s.scale,
          .mask = arrays.mask,
          .mask_batches = s.mask_batches};
}

dim3 grid_for(std::int64_t units, std::int64_t rows, std::int64_t width) {
  const std::int64_t columns = kGroups * kTile;
  const std::int64_t across = std::max<std::int64_t>(1, (width + columns - 1) / columns);
  return {static_cast<unsigned>(units * ((rows + kTile - 1) / kTile)),
          static_cast<unsigned>(across)};
}

template <typename T>
void launch_backward(const BackwardArguments<T>& a, std::int64_t units, cudaStream_t stream) {
  const Extents& e = a.extents;
  const std::int64_t rows = a.rows_are_queries ? e.queries : e.keys;
  const std::int64_t width = a.by_weight ? e.value_size : e.size;
  if (units == 0 || rows == 0 || width == 0) return;
  backward_kernel<T><<<grid_for(units, rows, width), kWarps * 32, 0, stream>>>(a);
  check_launch("attention_grad");
}

}  // namespace

void plain_attention(const AttentionShape& s, DType dtype, const AttentionArrays& arrays,
                     cudaStream_t stream) {
  if (s.units() == 0 || s.queries == 0) return;
  with_float(dtype, [&]<typename T>() {
    const ForwardArguments<T> a{.extents = extents_of(s, arrays),
                                .q = static_cast<const T*>(arrays.q),
                                .k = static_cast<const T*>(arrays.k),
                                .v = static_cast<const T*>(arrays.v),
                                .y = static_cast<T*>(arrays.y),
                                .log_sums = static_cast<Acc<T>*>(arrays.log_sums),
                                .at_q = s.q,
                                .at_k = s.k,
                                .at_v = s.v,
                                .at_y = s.y};
    forward_kernel<T><<<grid_for(s.units(), s.queries, s.value_size), kWarps * 32, 0, stream>>>(a);
  });
  check_launch("attention");
}

void plain_attention_grad(const AttentionShape& s, DType dtype, const AttentionArrays& arrays,
                          void* workspace, cudaStream_t stream) {
  with_float(dtype, [&]<typename T>() {
    const auto* q = static_cast<const T*>(arrays.q);
    const auto* k = static_cast<const T*>(arrays.k);
    const auto* v = static_cast<const T*>(arrays.v);
    const auto* dy = static_cast<const T*>(arrays.dy);
    auto* deltas = static_cast<Acc<T>*>(workspace);
    const std::int64_t rows = s.units() * s.queries;
    if (rows != 0) {
      delta_kernel<T><<<blocks_for(rows * 32), kWarps * 32, 0, stream>>>(
          extents_of(s, arrays), rows, static_cast<const T*>(arrays.y), dy, s.y,
          static_cast<const Acc<T>*>(arrays.d_log_sums), deltas);
      check_launch("attention_grad");
    }
    BackwardArguments<T> a{.extents = extents_of(s, arrays),
                           .rows_are_queries = true,
                           .by_weight = false,
                           .row_keys = q,
                           .row_values = dy,
                           .column_keys = k,
                           .column_values = v,
                           .other = k,
                           .to = static_cast<T*>(arrays.dq),
                           .at_row_keys = s.q,
                           .at_row_values = s.y,
                           .at_column_keys = s.k,
                           .at_column_values = s.v,
                           .at_other = s.k,
                           .at_to = s.q,
                           .log_sums = static_cast<const Acc<T>*>(arrays.log_sums),
                           .deltas = deltas};
    launch_backward(a, s.units(), stream);
    a.rows_are_queries = false;
    std::swap(a.row_keys, a.column_keys);
    std::swap(a.row_values, a.column_values);
    std::swap(a.at_row_keys, a.at_column_keys);
    std::swap(a.at_row_values, a.at_column_values);
    a.other = q;
    a.at_other = s.q;
    a.to = static_cast<T*>(arrays.dk);
    a.at_to = s.k;
    launch_backward(a, s.key_units(), stream);
    a.by_weight = true;
    a.other = dy;
    a.at_other = s.y;
    a.to = static_cast<T*>(arrays.dv);
    a.at_to = s.v;
    launch_backward(a, s.key_units(), stream);
  });
}

}  // namespace plimsoll::cuda
