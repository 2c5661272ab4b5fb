// Attention in blocks of queries and keys: the scores of one block at a time, with the running
// maximum and sum of each row (Milakov and Gimelshein 2018, Dao et al. 2022). Blocks are fixed by
// the shape, and each head (forward: each block of queries) is computed by one thread in one order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/blas.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

using ops::KernelState;
using ops::OpInputs;

constexpr std::int64_t kQueries = 128;  ///< of a block
constexpr std::int64_t kKeys = 256;

struct AttentionShape {
  std::int64_t heads = 1;  ///< all leading dimensions
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t size = 0;        ///< of q and k
  std::int64_t value_size = 0;  ///< of v
  bool causal = false;
  double scale = 1;

  std::int64_t query_block() const { return std::min(queries, kQueries); }
  std::int64_t key_block() const { return std::min(keys, kKeys); }
  /// Keys that query `i` sees: those before this one.
  std::int64_t seen(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }
};

struct AttentionState final : KernelState {
  AttentionShape shape;
  std::int64_t slots = 1;  ///< pieces that run at a time, each with its part of the workspace
  std::int64_t units = 0;
  std::int64_t slot_elements = 0;
  int threads = 1;
};

AttentionShape shape_of(const OpInputs& in) {
  const Shape& q = in.shape(0);
  AttentionShape s;
  for (int i = 0; i < q.rank() - 2; ++i) s.heads *= q[i];
  s.queries = q.dim(-2);
  s.keys = in.shape(1).dim(-2);
  s.size = q.dim(-1);
  s.value_size = in.shape(2).dim(-1);
  s.causal = in.attributes().flag("causal");
  s.scale = in.attributes().number("scale");
  return s;
}

/// With fewer units than threads, units follow each other and each product uses all threads.
std::shared_ptr<const KernelState> prepared(const OpInputs& in, std::int64_t units,
                                            std::int64_t slot_elements) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape_of(in);
  state->threads = compute_threads();
  state->units = units;
  state->slots = units >= state->threads ? std::max(1, state->threads) : 1;
  state->slot_elements = slot_elements;
  const Bytes size = in.dtype(0) == DType::f64 ? sizeof(double) : sizeof(float);
  state->workspace = static_cast<Bytes>(state->slots * slot_elements) * size;
  return state;
}

bool narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Runs `body(unit, workspace)` for all units, each slot a contiguous range of them.
template <typename A, typename Body>
void each_unit(const KernelContext& k, Body body) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  const ThreadsScope threads(state.threads);
  parallel_for(state.slots, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t slot = first; slot < last; ++slot) {
      A* workspace = static_cast<A*>(k.workspace) + slot * state.slot_elements;
      const std::int64_t end = state.units * (slot + 1) / state.slots;
      for (std::int64_t unit = state.units * slot / state.slots; unit < end; ++unit) {
        body(unit, workspace);
      }
    }
  });
}

/// Rows in what T is computed in: themselves, or a copy in `space`.
template <typename T>
const Acc<T>* wide_rows(const T* from, std::int64_t elements, Acc<T>* space) {
  if constexpr (std::is_same_v<T, Acc<T>>) {
    return from;
  } else {
    to_f32(from, std::is_same_v<T, BFloat16> ? DType::bf16 : DType::f16, elements, space);
    return space;
  }
}
template <typename T>
void narrow_rows(const Acc<T>* from, std::int64_t elements, T* to) {
  if constexpr (!std::is_same_v<T, Acc<T>>) {
    from_f32(from, elements, to, std::is_same_v<T, BFloat16> ? DType::bf16 : DType::f16);
  }
}

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return block == 0 ? 0 : (count + block - 1) / block;
}

std::int64_t forward_elements(const AttentionShape& s, DType dtype) {
  const std::int64_t rows = s.query_block();
  std::int64_t elements = rows * s.key_block() + 2 * rows;
  if (narrow(dtype)) {
    elements += rows * (s.size + s.value_size) + s.key_block() * (s.size + s.value_size);
  }
  return elements;
}

template <typename T>
void forward_block(const KernelContext& k, const AttentionShape& s, std::int64_t unit,
                   Acc<T>* space) {
  using A = Acc<T>;
  const std::int64_t blocks = blocks_of(s.queries, s.query_block());
  const std::int64_t head = unit / blocks;
  const std::int64_t q0 = unit % blocks * s.query_block();
  const std::int64_t rows = std::min(s.query_block(), s.queries - q0);
  A* scores = space;
  A* highest = scores + s.query_block() * s.key_block();
  A* sums = highest + s.query_block();
  A* q_space = sums + s.query_block();
  A* out_space = q_space + s.query_block() * s.size;
  A* k_space = out_space + s.query_block() * s.value_size;
  A* v_space = k_space + s.key_block() * s.size;

  const auto scale = static_cast<A>(s.scale);
  const A* q = wide_rows<T>(k.in(0).as<const T>() + (head * s.queries + q0) * s.size, rows * s.size,
                            q_space);
  T* out = k.out(0).as<T>() + (head * s.queries + q0) * s.value_size;
  A* sum_of_values = out_space;
  if constexpr (std::is_same_v<T, A>) sum_of_values = out;
  std::fill_n(sum_of_values, rows * s.value_size, A(0));
  std::fill_n(highest, rows, -std::numeric_limits<A>::infinity());
  std::fill_n(sums, rows, A(0));

  const std::int64_t last = s.seen(q0 + rows - 1);
  for (std::int64_t k0 = 0; k0 < last; k0 += s.key_block()) {
    const std::int64_t columns = std::min(s.key_block(), last - k0);
    const std::int64_t at = head * s.keys + k0;
    const A* key = wide_rows<T>(k.in(1).as<const T>() + at * s.size, columns * s.size, k_space);
    const A* value =
        wide_rows<T>(k.in(2).as<const T>() + at * s.value_size, columns * s.value_size, v_space);
    gemm(rows, columns, s.size, A(1), {q, s.size}, {key, s.size, true}, A(0), {scores, columns});
    for (std::int64_t i = 0; i < rows; ++i) {
      A* row = scores + i * columns;
      const std::int64_t seen = std::clamp<std::int64_t>(s.seen(q0 + i) - k0, 0, columns);
      std::fill(row + seen, row + columns, A(0));
      if (seen == 0) continue;
      // A negative scale turns the order around.
      A top = row_max(row, seen) * scale;
      if (scale < A(0)) {
        top = -std::numeric_limits<A>::infinity();
        for (std::int64_t j = 0; j < seen; ++j) top = std::max(top, row[j] * scale);
      }
      if (top > highest[i]) {
        if (sums[i] != A(0)) {
          const A factor = std::exp(highest[i] - top);
          sums[i] *= factor;
          row_scale(sum_of_values + i * s.value_size, s.value_size, factor);
        }
        highest[i] = top;
      }
      sums[i] += row_exp(row, seen, scale, highest[i]);
    }
    gemm(rows, s.value_size, columns, A(1), {scores, columns}, {value, s.value_size}, A(1),
         {sum_of_values, s.value_size});
  }
  A* log_sums = k.out(1).as<A>() + head * s.queries + q0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool blind = s.seen(q0 + i) == 0;
    log_sums[i] = blind ? A(0) : highest[i] + std::log(sums[i]);
    if (!blind) row_scale(sum_of_values + i * s.value_size, s.value_size, A(1) / sums[i]);
  }
  narrow_rows<T>(sum_of_values, rows * s.value_size, out);
}

void run_attention(const KernelContext& k) {
  const AttentionShape& s = static_cast<const AttentionState&>(*k.state).shape;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    each_unit<Acc<T>>(
        k, [&](std::int64_t unit, Acc<T>* space) { forward_block<T>(k, s, unit, space); });
  });
}

std::int64_t backward_elements(const AttentionShape& s, DType dtype) {
  const std::int64_t rows = s.query_block();
  const std::int64_t columns = s.key_block();
  std::int64_t elements = 2 * rows * columns + s.queries;
  if (narrow(dtype)) {
    elements += rows * (s.size + s.value_size) + 2 * columns * (s.size + s.value_size) +
                s.queries * s.size + s.value_size;
  }
  return elements;
}

/// The gradients of one head.
template <typename T>
void backward_head(const KernelContext& k, const AttentionShape& s, std::int64_t head,
                   Acc<T>* space) {
  using A = Acc<T>;
  constexpr bool kWide = std::is_same_v<T, A>;
  const std::int64_t block_rows = s.query_block();
  const std::int64_t block_columns = s.key_block();
  A* weights = space;
  A* d_scores = weights + block_rows * block_columns;
  A* deltas = d_scores + block_rows * block_columns;
  A* q_space = deltas + s.queries;
  A* dy_space = q_space + block_rows * s.size;
  A* k_space = dy_space + block_rows * s.value_size;
  A* v_space = k_space + block_columns * s.size;
  A* dk_space = v_space + block_columns * s.value_size;
  A* dv_space = dk_space + block_columns * s.size;
  A* dq_space = dv_space + block_columns * s.value_size;

  const auto scale = static_cast<A>(s.scale);
  const T* q = k.in(0).as<const T>() + head * s.queries * s.size;
  const T* keys = k.in(1).as<const T>() + head * s.keys * s.size;
  const T* values = k.in(2).as<const T>() + head * s.keys * s.value_size;
  const T* y = k.in(3).as<const T>() + head * s.queries * s.value_size;
  const A* log_sums = k.in(4).as<const A>() + head * s.queries;
  const T* dy = k.in(5).as<const T>() + head * s.queries * s.value_size;
  const A* d_log_sums = k.inputs.size() > 6 ? k.in(6).as<const A>() + head * s.queries : nullptr;
  T* dq_out = k.out(0).as<T>() + head * s.queries * s.size;
  T* dk_out = k.out(1).as<T>() + head * s.keys * s.size;
  T* dv_out = k.out(2).as<T>() + head * s.keys * s.value_size;

  // What the rows' weights share: the sum of y dy, less what comes in by the sums themselves.
  for (std::int64_t i = 0; i < s.queries; ++i) {
    A total{};
    if constexpr (kWide) {
      total = row_dot(y + i * s.value_size, dy + i * s.value_size, s.value_size);
    } else {
      for (std::int64_t j = 0; j < s.value_size; ++j) {
        total += static_cast<A>(y[i * s.value_size + j]) * static_cast<A>(dy[i * s.value_size + j]);
      }
    }
    deltas[i] = total - (d_log_sums == nullptr ? A(0) : d_log_sums[i]);
  }
  A* dq = dq_space;
  if constexpr (kWide) dq = dq_out;
  std::fill_n(dq, s.queries * s.size, A(0));

  for (std::int64_t k0 = 0; k0 < s.keys; k0 += block_columns) {
    const std::int64_t columns = std::min(block_columns, s.keys - k0);
    const A* key = wide_rows<T>(keys + k0 * s.size, columns * s.size, k_space);
    const A* value = wide_rows<T>(values + k0 * s.value_size, columns * s.value_size, v_space);
    A* dk = dk_space;
    A* dv = dv_space;
    if constexpr (kWide) {
      dk = dk_out + k0 * s.size;
      dv = dv_out + k0 * s.value_size;
    }
    std::fill_n(dk, columns * s.size, A(0));
    std::fill_n(dv, columns * s.value_size, A(0));
    for (std::int64_t q0 = 0; q0 < s.queries; q0 += block_rows) {
      const std::int64_t rows = std::min(block_rows, s.queries - q0);
      if (s.seen(q0 + rows - 1) <= k0) continue;
      const A* query = wide_rows<T>(q + q0 * s.size, rows * s.size, q_space);
      const A* d_out = wide_rows<T>(dy + q0 * s.value_size, rows * s.value_size, dy_space);
      gemm(rows, columns, s.size, A(1), {query, s.size}, {key, s.size, true}, A(0),
           {weights, columns});
      gemm(rows, columns, s.value_size, A(1), {d_out, s.value_size}, {value, s.value_size, true},
           A(0), {d_scores, columns});
      for (std::int64_t i = 0; i < rows; ++i) {
        A* p = weights + i * columns;
        A* d = d_scores + i * columns;
        const std::int64_t seen = std::clamp<std::int64_t>(s.seen(q0 + i) - k0, 0, columns);
        std::fill(p + seen, p + columns, A(0));
        std::fill(d + seen, d + columns, A(0));
        if (seen == 0) continue;
        row_exp(p, seen, scale, log_sums[q0 + i]);
        row_softmax_grad(d, p, seen, deltas[q0 + i], scale);
      }
      gemm(columns, s.value_size, rows, A(1), {weights, columns, true}, {d_out, s.value_size}, A(1),
           {dv, s.value_size});
      gemm(columns, s.size, rows, A(1), {d_scores, columns, true}, {query, s.size}, A(1),
           {dk, s.size});
      gemm(rows, s.size, columns, A(1), {d_scores, columns}, {key, s.size}, A(1),
           {dq + q0 * s.size, s.size});
    }
    narrow_rows<T>(dk, columns * s.size, dk_out + k0 * s.size);
    narrow_rows<T>(dv, columns * s.value_size, dv_out + k0 * s.value_size);
  }
  narrow_rows<T>(dq, s.queries * s.size, dq_out);
}

void run_attention_grad(const KernelContext& k) {
  const AttentionShape& s = static_cast<const AttentionState&>(*k.state).shape;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    each_unit<Acc<T>>(
        k, [&](std::int64_t unit, Acc<T>* space) { backward_head<T>(k, s, unit, space); });
  });
}

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table.add("attention", {run_attention, [](const OpInputs& in, std::span<const TensorType>) {
                            const AttentionShape s = shape_of(in);
                            return prepared(in, s.heads * blocks_of(s.queries, s.query_block()),
                                            forward_elements(s, in.dtype(0)));
                          }});
  table.add("attention_grad",
            {run_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               const AttentionShape s = shape_of(in);
               return prepared(in, s.heads, backward_elements(s, in.dtype(0)));
             }});
}

}  // namespace plimsoll::cpu
