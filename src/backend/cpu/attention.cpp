// Attention in blocks of queries and keys: the scores of one block at a time, with the running
// maximum and sum of each row (Milakov and Gimelshein 2018, Dao et al. 2022). Blocks are fixed by
// the shape, and each head (forward: each block of queries) is computed by one thread in one order.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include <plimsoll/backend/common/attention_inputs.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/attention_shape.h>

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/blas.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

using backend::AttentionExtras;
using ops::AttentionLayout;
using ops::AttentionShape;
using ops::KernelState;
using ops::OpInputs;

// Extents of a block. Small ones leave out more of what a causal mask hides.
constexpr std::int64_t kQueries = 128;
constexpr std::int64_t kKeys = 256;
constexpr std::int64_t kCausal = 64;

/// A block's extents.
std::int64_t query_block(const AttentionShape& s) {
  return std::min(s.queries, s.causal ? kCausal : kQueries);
}
std::int64_t key_block(const AttentionShape& s) {
  return std::min(s.keys, s.causal ? kCausal : kKeys);
}

/// The arrays that the layouts of the shape are in; what an op does not have is null.
struct Arrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* y = nullptr;
  void* log_sums = nullptr;
  const bool* mask = nullptr;
  const void* dy = nullptr;
  const void* d_log_sums = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
};

struct AttentionState final : KernelState {
  AttentionShape shape;
  std::int64_t slots = 1;  ///< pieces that run at a time, each with its part of the workspace
  std::int64_t units = 0;
  std::int64_t slot_elements = 0;
  int threads = 1;
};

/// With fewer units than threads, units follow each other and each product uses all threads.
std::shared_ptr<const KernelState> prepared(const AttentionShape& shape, DType dtype,
                                            std::int64_t units, std::int64_t slot_elements) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  state->threads = compute_threads();
  state->units = units;
  state->slots = units >= state->threads ? std::max(1, state->threads) : 1;
  state->slot_elements = slot_elements;
  const Bytes size = dtype == DType::f64 ? sizeof(double) : sizeof(float);
  state->workspace = static_cast<Bytes>(state->slots * slot_elements) * size;
  return state;
}

bool narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Runs `body(unit, workspace)` for all units, at most `slots` at a time.
template <typename A, typename Body>
void each_unit(const KernelContext& k, Body body) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  const ThreadsScope threads(state.threads);
  parallel_tasks(state.units, static_cast<int>(state.slots), [&](std::int64_t unit, int slot) {
    body(unit, static_cast<A*>(k.workspace) + slot * state.slot_elements);
  });
}

/// Rows of `width` elements, `stride` apart.
template <typename T>
struct Rows {
  T* data;
  std::int64_t stride;
};

/// Rows in what T is computed in: themselves, or a copy in `space`.
template <typename T>
Matrix<const Acc<T>> wide_rows(Rows<const T> from, std::int64_t rows, std::int64_t width,
                               Acc<T>* space, bool transposed = false) {
  if constexpr (std::is_same_v<T, Acc<T>>) {
    return {from.data, from.stride, transposed};
  } else {
    const DType dtype = std::is_same_v<T, BFloat16> ? DType::bf16 : DType::f16;
    if (from.stride == width) {
      to_f32(from.data, dtype, rows * width, space);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) {
        to_f32(from.data + i * from.stride, dtype, width, space + i * width);
      }
    }
    return {space, width, transposed};
  }
}
/// Where sums of rows go: to the rows themselves, or to `space`, to be narrowed later.
template <typename T>
Rows<Acc<T>> sum_rows(Rows<T> to, std::int64_t rows, std::int64_t width, Acc<T>* space) {
  Rows<Acc<T>> sums{space, width};
  if constexpr (std::is_same_v<T, Acc<T>>) sums = to;
  for (std::int64_t i = 0; i < rows; ++i)
    std::fill_n(sums.data + i * sums.stride, width, Acc<T>(0));
  return sums;
}
template <typename T>
void narrow_rows(const Acc<T>* from, std::int64_t rows, std::int64_t width, Rows<T> to) {
  if constexpr (!std::is_same_v<T, Acc<T>>) {
    const DType dtype = std::is_same_v<T, BFloat16> ? DType::bf16 : DType::f16;
    if (to.stride == width) return from_f32(from, rows * width, to.data, dtype);
    for (std::int64_t i = 0; i < rows; ++i) {
      from_f32(from + i * width, width, to.data + i * to.stride, dtype);
    }
  }
}

/// The rows of q or y of a unit from row `first` on.
template <typename T, typename Array>
Rows<T> rows_at(Array* array, const AttentionShape& s, const AttentionLayout& layout,
                std::int64_t unit, std::int64_t first = 0) {
  return {static_cast<T*>(array) + s.at(layout, unit) + first * layout.row, layout.row};
}
/// Those of k or v.
template <typename T, typename Array>
Rows<T> key_rows_at(Array* array, const AttentionShape& s, const AttentionLayout& layout,
                    std::int64_t unit, std::int64_t first) {
  return {static_cast<T*>(array) + s.key_at(layout, unit) + first * layout.row, layout.row};
}

/// The unit's row of the mask; null where there is none.
const bool* mask_of(const Arrays& arrays, const AttentionShape& s, std::int64_t unit) {
  return arrays.mask == nullptr ? nullptr : arrays.mask + s.mask_row(unit) * s.keys;
}
/// Whether the mask hides all of `count` keys from `first` on.
bool all_hidden(const bool* mask, std::int64_t first, std::int64_t count) {
  return mask != nullptr && std::none_of(mask + first, mask + first + count, std::identity());
}

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return block == 0 ? 0 : (count + block - 1) / block;
}

std::int64_t forward_elements(const AttentionShape& s, DType dtype) {
  const std::int64_t rows = query_block(s);
  std::int64_t elements = rows * key_block(s) + 2 * rows;
  if (narrow(dtype)) {
    elements += rows * (s.size + s.value_size) + key_block(s) * (s.size + s.value_size);
  }
  return elements;
}

template <typename T>
void forward_block(const Arrays& arrays, const AttentionShape& s, std::int64_t unit,
                   Acc<T>* space) {
  using A = Acc<T>;
  const std::int64_t blocks = blocks_of(s.queries, query_block(s));
  const std::int64_t head = unit / blocks;
  const std::int64_t q0 = unit % blocks * query_block(s);
  const std::int64_t rows = std::min(query_block(s), s.queries - q0);
  A* scores = space;
  A* highest = scores + query_block(s) * key_block(s);
  A* sums = highest + query_block(s);
  A* q_space = sums + query_block(s);
  A* out_space = q_space + query_block(s) * s.size;
  A* k_space = out_space + query_block(s) * s.value_size;
  A* v_space = k_space + key_block(s) * s.size;

  const auto scale = static_cast<A>(s.scale);
  const Matrix<const A> q =
      wide_rows<T>(rows_at<const T>(arrays.q, s, s.q, head, q0), rows, s.size, q_space);
  const Rows<T> out = rows_at<T>(arrays.y, s, s.y, head, q0);
  const Rows<A> sum_of_values = sum_rows<T>(out, rows, s.value_size, out_space);
  std::fill_n(highest, rows, -std::numeric_limits<A>::infinity());
  std::fill_n(sums, rows, A(0));

  /// Sums of row i go on with `top` as what exponents are counted from, if that is higher.
  const auto raise = [&](std::int64_t i, A top) {
    if (!(top > highest[i])) return;
    if (sums[i] != A(0)) {
      const A factor = std::exp(highest[i] - top);
      sums[i] *= factor;
      row_scale(sum_of_values.data + i * sum_of_values.stride, s.value_size, factor);
    }
    highest[i] = top;
  };
  const bool* mask = mask_of(arrays, s, head);
  const std::int64_t last = s.seen(q0 + rows - 1);
  for (std::int64_t k0 = 0; k0 < last; k0 += key_block(s)) {
    const std::int64_t columns = std::min(key_block(s), last - k0);
    if (all_hidden(mask, k0, columns)) continue;
    const Matrix<const A> key = wide_rows<T>(key_rows_at<const T>(arrays.k, s, s.k, head, k0),
                                             columns, s.size, k_space, true);
    const Matrix<const A> value = wide_rows<T>(key_rows_at<const T>(arrays.v, s, s.v, head, k0),
                                               columns, s.value_size, v_space);
    gemm(rows, columns, s.size, A(1), q, key, A(0), {scores, columns});
    for (std::int64_t i = 0; i < rows; ++i) {
      A* row = scores + i * columns;
      const std::int64_t seen = std::clamp<std::int64_t>(s.seen(q0 + i) - k0, 0, columns);
      std::fill(row + seen, row + columns, A(0));
      if (seen == 0) continue;
      if (mask != nullptr) {
        const A top = row_hide(row, mask + k0, seen, scale);
        if (top == std::numeric_limits<A>::lowest()) {
          std::fill_n(row, seen, A(0));
          continue;
        }
        raise(i, top);
        sums[i] += row_exp(row, seen, A(1), highest[i]);
        row_clear(row, mask + k0, seen);
        continue;
      }
      // A negative scale turns the order around.
      A top = row_max(row, seen) * scale;
      if (scale < A(0)) {
        top = -std::numeric_limits<A>::infinity();
        for (std::int64_t j = 0; j < seen; ++j) top = std::max(top, row[j] * scale);
      }
      raise(i, top);
      sums[i] += row_exp(row, seen, scale, highest[i]);
    }
    gemm(rows, s.value_size, columns, A(1), {scores, columns}, value, A(1),
         {sum_of_values.data, sum_of_values.stride});
  }
  A* log_sums = static_cast<A*>(arrays.log_sums) + head * s.queries + q0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool blind = sums[i] == A(0);  // it sees no key
    log_sums[i] = blind ? A(0) : highest[i] + std::log(sums[i]);
    if (!blind) {
      row_scale(sum_of_values.data + i * sum_of_values.stride, s.value_size, A(1) / sums[i]);
    }
  }
  narrow_rows<T>(sum_of_values.data, rows, s.value_size, out);
}

void run_forward(const KernelContext& k, const Arrays& arrays) {
  const AttentionShape& s = static_cast<const AttentionState&>(*k.state).shape;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    each_unit<Acc<T>>(
        k, [&](std::int64_t unit, Acc<T>* space) { forward_block<T>(arrays, s, unit, space); });
  });
}

std::int64_t backward_elements(const AttentionShape& s, DType dtype) {
  const std::int64_t rows = query_block(s);
  const std::int64_t columns = key_block(s);
  std::int64_t elements = 2 * rows * columns + s.group * s.queries;
  if (narrow(dtype)) {
    elements += rows * (s.size + s.value_size) + 2 * columns * (s.size + s.value_size) +
                s.group * s.queries * s.size + s.value_size;
  }
  return elements;
}

/// What the weights of a head's rows share: the sum of y dy, less what comes in by the sums
/// themselves.
template <typename T>
void fill_deltas(const Arrays& arrays, const AttentionShape& s, std::int64_t head, Acc<T>* deltas) {
  using A = Acc<T>;
  const Rows<const T> y = rows_at<const T>(arrays.y, s, s.y, head);
  const Rows<const T> dy = rows_at<const T>(arrays.dy, s, s.y, head);
  const A* d_log_sums = static_cast<const A*>(arrays.d_log_sums);
  if (d_log_sums != nullptr) d_log_sums += head * s.queries;
  for (std::int64_t i = 0; i < s.queries; ++i) {
    A total{};
    if constexpr (std::is_same_v<T, A>) {
      total = row_dot(y.data + i * y.stride, dy.data + i * dy.stride, s.value_size);
    } else {
      for (std::int64_t j = 0; j < s.value_size; ++j) {
        total +=
            static_cast<A>(y.data[i * y.stride + j]) * static_cast<A>(dy.data[i * dy.stride + j]);
      }
    }
    deltas[i] = total - (d_log_sums == nullptr ? A(0) : d_log_sums[i]);
  }
}

/// The gradients of one head of keys and values, and of all heads of queries that read it.
template <typename T>
void backward_head(const Arrays& arrays, const AttentionShape& s, std::int64_t key_unit,
                   Acc<T>* space) {
  using A = Acc<T>;
  const std::int64_t block_rows = query_block(s);
  const std::int64_t block_columns = key_block(s);
  A* weights = space;
  A* d_scores = weights + block_rows * block_columns;
  A* deltas = d_scores + block_rows * block_columns;
  A* q_space = deltas + s.group * s.queries;
  A* dy_space = q_space + block_rows * s.size;
  A* k_space = dy_space + block_rows * s.value_size;
  A* v_space = k_space + block_columns * s.size;
  A* dk_space = v_space + block_columns * s.value_size;
  A* dv_space = dk_space + block_columns * s.size;
  A* dq_space = dv_space + block_columns * s.value_size;

  const auto scale = static_cast<A>(s.scale);
  const std::int64_t first = key_unit * s.group;  // head of queries
  const bool* mask = mask_of(arrays, s, first);
  const auto dq_of = [&](std::int64_t head) {
    Rows<A> sums{dq_space + (head - first) * s.queries * s.size, s.size};
    [[maybe_unused]] const Rows<T> out = rows_at<T>(arrays.dq, s, s.q, head);
    if constexpr (std::is_same_v<T, A>) sums = out;
    return sums;
  };
  for (std::int64_t head = first; head < first + s.group; ++head) {
    fill_deltas<T>(arrays, s, head, deltas + (head - first) * s.queries);
    sum_rows<T>(rows_at<T>(arrays.dq, s, s.q, head), s.queries, s.size, dq_of(head).data);
  }

  for (std::int64_t k0 = 0; k0 < s.keys; k0 += block_columns) {
    const std::int64_t columns = std::min(block_columns, s.keys - k0);
    const Matrix<const A> key =
        wide_rows<T>(key_rows_at<const T>(arrays.k, s, s.k, first, k0), columns, s.size, k_space);
    const Matrix<const A> value = wide_rows<T>(key_rows_at<const T>(arrays.v, s, s.v, first, k0),
                                               columns, s.value_size, v_space, true);
    const Rows<T> dk_out = key_rows_at<T>(arrays.dk, s, s.k, first, k0);
    const Rows<T> dv_out = key_rows_at<T>(arrays.dv, s, s.v, first, k0);
    const Rows<A> dk = sum_rows<T>(dk_out, columns, s.size, dk_space);
    const Rows<A> dv = sum_rows<T>(dv_out, columns, s.value_size, dv_space);
    const std::int64_t heads = all_hidden(mask, k0, columns) ? 0 : s.group;
    for (std::int64_t head = first; head < first + heads; ++head) {
      const A* log_sums = static_cast<const A*>(arrays.log_sums) + head * s.queries;
      const A* of_rows = deltas + (head - first) * s.queries;
      const Rows<A> dq = dq_of(head);
      for (std::int64_t q0 = 0; q0 < s.queries; q0 += block_rows) {
        const std::int64_t rows = std::min(block_rows, s.queries - q0);
        if (s.seen(q0 + rows - 1) <= k0) continue;
        const Matrix<const A> query =
            wide_rows<T>(rows_at<const T>(arrays.q, s, s.q, head, q0), rows, s.size, q_space);
        const Matrix<const A> d_out = wide_rows<T>(rows_at<const T>(arrays.dy, s, s.y, head, q0),
                                                   rows, s.value_size, dy_space);
        gemm(rows, columns, s.size, A(1), query, {key.data, key.stride, true}, A(0),
             {weights, columns});
        gemm(rows, columns, s.value_size, A(1), d_out, value, A(0), {d_scores, columns});
        for (std::int64_t i = 0; i < rows; ++i) {
          A* p = weights + i * columns;
          A* d = d_scores + i * columns;
          const std::int64_t seen = std::clamp<std::int64_t>(s.seen(q0 + i) - k0, 0, columns);
          std::fill(p + seen, p + columns, A(0));
          std::fill(d + seen, d + columns, A(0));
          if (seen == 0) continue;
          row_exp(p, seen, scale, log_sums[q0 + i]);
          if (mask != nullptr) row_clear(p, mask + k0, seen);
          row_softmax_grad(d, p, seen, of_rows[q0 + i], scale);
        }
        gemm(columns, s.value_size, rows, A(1), {weights, columns, true}, d_out, A(1),
             {dv.data, dv.stride});
        gemm(columns, s.size, rows, A(1), {d_scores, columns, true}, query, A(1),
             {dk.data, dk.stride});
        gemm(rows, s.size, columns, A(1), {d_scores, columns}, key, A(1),
             {dq.data + q0 * dq.stride, dq.stride});
      }
    }
    narrow_rows<T>(dk.data, columns, s.size, dk_out);
    narrow_rows<T>(dv.data, columns, s.value_size, dv_out);
  }
  for (std::int64_t head = first; head < first + s.group; ++head) {
    narrow_rows<T>(dq_of(head).data, s.queries, s.size, rows_at<T>(arrays.dq, s, s.q, head));
  }
}

void run_backward(const KernelContext& k, const Arrays& arrays) {
  const AttentionShape& s = static_cast<const AttentionState&>(*k.state).shape;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    each_unit<Acc<T>>(
        k, [&](std::int64_t unit, Acc<T>* space) { backward_head<T>(arrays, s, unit, space); });
  });
}

void run_attention(const KernelContext& k) {
  run_forward(k, {.q = k.in(0).data,
                  .k = k.in(1).data,
                  .v = k.in(2).data,
                  .y = k.out(0).data,
                  .log_sums = k.out(1).data,
                  .mask = AttentionExtras(k, 3).mask});
}
void run_attention_grad(const KernelContext& k) {
  const AttentionExtras more(k, 6);
  run_backward(k, {.q = k.in(0).data,
                   .k = k.in(1).data,
                   .v = k.in(2).data,
                   .y = k.in(3).data,
                   .log_sums = k.in(4).data,
                   .mask = more.mask,
                   .dy = k.in(5).data,
                   .d_log_sums = more.d_log_sums,
                   .dq = k.out(0).data,
                   .dk = k.out(1).data,
                   .dv = k.out(2).data});
}
void run_self_attention(const KernelContext& k) {
  void* qkv = k.in(0).data;
  run_forward(k, {.q = qkv,
                  .k = qkv,
                  .v = qkv,
                  .y = k.out(0).data,
                  .log_sums = k.out(1).data,
                  .mask = AttentionExtras(k, 1).mask});
}
void run_self_attention_grad(const KernelContext& k) {
  void* qkv = k.in(0).data;
  void* dqkv = k.out(0).data;
  const AttentionExtras more(k, 4);
  run_backward(k, {.q = qkv,
                   .k = qkv,
                   .v = qkv,
                   .y = k.in(1).data,
                   .log_sums = k.in(2).data,
                   .mask = more.mask,
                   .dy = k.in(3).data,
                   .d_log_sums = more.d_log_sums,
                   .dq = dqkv,
                   .dk = dqkv,
                   .dv = dqkv});
}

std::shared_ptr<const KernelState> prepare_forward(const AttentionShape& s, DType dtype) {
  return prepared(s, dtype, s.units() * blocks_of(s.queries, query_block(s)),
                  forward_elements(s, dtype));
}
std::shared_ptr<const KernelState> prepare_backward(const AttentionShape& s, DType dtype) {
  return prepared(s, dtype, s.key_units(), backward_elements(s, dtype));
}

void add_kernels(KernelTable& table) {
  table.add("attention", {run_attention, [](const OpInputs& in, std::span<const TensorType>) {
                            return prepare_forward(ops::attention_shape(in), in.dtype(0));
                          }});
  table.add("attention_grad",
            {run_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_backward(ops::attention_shape(in), in.dtype(0));
             }});
  table.add("self_attention",
            {run_self_attention, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_forward(ops::self_attention_shape(in), in.dtype(0));
             }});
  table.add("self_attention_grad",
            {run_self_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_backward(ops::self_attention_shape(in), in.dtype(0));
             }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
