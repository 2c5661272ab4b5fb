// attention and self_attention: by cuDNN where it takes the shape, but the gradient of few tokens
// by our own kernel; else by our own for few tokens, or by the plain ones.
#include "backend/cuda/attention.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionShape;
using ops::KernelState;
using ops::OpInputs;

struct AttentionState final : KernelState {
  AttentionShape shape;
  std::optional<FusedAttention> fused;
  bool few_tokens = false;
};

std::shared_ptr<const KernelState> prepare(const AttentionShape& shape, DType dtype) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  if (ops::fused_attention(shape, dtype)) {
    state->fused = fuse_attention(shape, dtype, false, shape.batches,
                                  ops::kWorkspaceSlot - ops::kWorkspaceReserve);
  }
  state->few_tokens =
      !state->fused && ops::short_attention(shape, dtype) && short_attention_fits(shape);
  if (state->fused) state->workspace = state->fused->workspace;
  return state;
}

/// `more`: the logarithms of the sums have a gradient, too.
std::shared_ptr<const KernelState> prepare_grad(const AttentionShape& shape, DType dtype,
                                                bool more) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  Bytes limit = ops::attention_grad_workspace(shape, dtype);
  if (ops::short_attention(shape, dtype)) {
    state->few_tokens = short_attention_fits(shape);
    if (state->few_tokens) return state;
    limit = std::max(limit, ops::kWorkspaceSlot - ops::kWorkspaceReserve);
  }
  if (ops::fused_attention_grad(shape, dtype) && !more) {
    // Fewer at a time where the library wants more than was foreseen.
    for (std::int64_t n = ops::fused_attention_grad_batches(shape); n > 0 && !state->fused; --n) {
      const Bytes copies = ops::attention_copies(shape, n).total();
      if (shape.batches % n != 0 || copies >= limit) continue;
      state->fused =
          fuse_attention(ops::fused_attention_grad_shape(shape), dtype, true, n, limit - copies);
      if (state->fused) state->workspace = state->fused->workspace + copies;
    }
  }
  if (!state->fused) state->workspace = ops::plain_attention_grad_workspace(shape, dtype);
  return state;
}

void run_forward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  if (state.few_tokens) return short_attention(state.shape, k.in(0).dtype(), arrays, queue_of(k));
  if (state.fused) return run_fused_attention(*state.fused, arrays, k.workspace, queue_of(k));
  plain_attention(state.shape, k.in(0).dtype(), arrays, queue_of(k));
}

/// The gradient on copies to which tokens were added. Zeros everywhere, and sums so large that no
/// score of theirs counts, add nothing to any gradient.
void run_with_added_tokens(const AttentionState& state, const AttentionArrays& arrays,
                           void* workspace, cudaStream_t stream) {
  const AttentionShape& s = state.shape;
  FusedAttention fused = *state.fused;
  const std::int64_t n = fused.batches;
  fused.shape.batches = n;
  const std::int64_t tokens = fused.shape.queries;
  const ops::AttentionCopies sizes = ops::attention_copies(s, n);
  auto* at = static_cast<std::byte*>(workspace);
  const auto take = [&](Bytes bytes) { return std::exchange(at, at + bytes); };
  std::byte* rows = take(sizes.rows);
  std::byte* row_gradients = take(sizes.rows);
  std::byte* results = take(sizes.results);
  std::byte* result_gradients = take(sizes.results);
  std::byte* sums = take(sizes.sums);
  const auto features = static_cast<std::size_t>(s.heads * s.size) * 2;
  const auto wide = [&](std::size_t row) { return static_cast<std::size_t>(tokens) * row; };
  const auto narrow = [&](std::size_t row) { return static_cast<std::size_t>(s.queries) * row; };
  // `count` pieces of s.queries rows each, to where tokens rows have room.
  const auto spread = [&](std::byte* to, const void* from, std::int64_t first, std::int64_t count,
                          std::size_t row, int filler) {
    const auto pieces = static_cast<std::size_t>(count);
    const auto* begin =
        static_cast<const std::byte*>(from) + static_cast<std::size_t>(first) * narrow(row);
    check(cudaMemset2DAsync(to + narrow(row), wide(row), filler, wide(row) - narrow(row), pieces,
                            stream),
          "self_attention_grad");
    check(cudaMemcpy2DAsync(to, wide(row), begin, narrow(row), narrow(row), pieces,
                            cudaMemcpyDeviceToDevice, stream),
          "self_attention_grad");
  };
  for (std::int64_t b = 0; b < s.batches; b += n) {
    spread(rows, arrays.q, b, n, 3 * features, 0);
    spread(results, arrays.y, b, n, features, 0);
    spread(result_gradients, arrays.dy, b, n, features, 0);
    spread(sums, arrays.log_sums, b * s.heads, n * s.heads, sizeof(float), 0x7F);
    run_fused_attention(fused,
                        {.q = rows,
                         .k = rows,
                         .v = rows,
                         .y = results,
                         .log_sums = sums,
                         .dy = result_gradients,
                         .dq = row_gradients,
                         .dk = row_gradients,
                         .dv = row_gradients},
                        at, stream);
    auto* to =
        static_cast<std::byte*>(arrays.dq) + static_cast<std::size_t>(b) * narrow(3 * features);
    check(cudaMemcpy2DAsync(to, narrow(3 * features), row_gradients, wide(3 * features),
                            narrow(3 * features), static_cast<std::size_t>(n),
                            cudaMemcpyDeviceToDevice, stream),
          "self_attention_grad");
  }
}

void run_backward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  if (state.few_tokens) {
    return short_attention_grad(state.shape, k.in(0).dtype(), arrays, queue_of(k));
  }
  if (state.fused && state.fused->shape.queries != state.shape.queries) {
    return run_with_added_tokens(state, arrays, k.workspace, queue_of(k));
  }
  if (state.fused) return run_fused_attention(*state.fused, arrays, k.workspace, queue_of(k));
  plain_attention_grad(state.shape, k.in(0).dtype(), arrays, k.workspace, queue_of(k));
}

void run_attention(const KernelContext& k) {
  run_forward(k, {.q = k.in(0).data,
                  .k = k.in(1).data,
                  .v = k.in(2).data,
                  .y = k.out(0).data,
                  .log_sums = k.out(1).data});
}

void run_attention_grad(const KernelContext& k) {
  run_backward(k, {.q = k.in(0).data,
                   .k = k.in(1).data,
                   .v = k.in(2).data,
                   .y = k.in(3).data,
                   .log_sums = k.in(4).data,
                   .dy = k.in(5).data,
                   .d_log_sums = k.inputs.size() > 6 ? k.in(6).data : nullptr,
                   .dq = k.out(0).data,
                   .dk = k.out(1).data,
                   .dv = k.out(2).data});
}

void run_self_attention(const KernelContext& k) {
  const void* qkv = k.in(0).data;
  run_forward(k, {.q = qkv, .k = qkv, .v = qkv, .y = k.out(0).data, .log_sums = k.out(1).data});
}

void run_self_attention_grad(const KernelContext& k) {
  const void* qkv = k.in(0).data;
  void* dqkv = k.out(0).data;
  run_backward(k, {.q = qkv,
                   .k = qkv,
                   .v = qkv,
                   .y = k.in(1).data,
                   .log_sums = k.in(2).data,
                   .dy = k.in(3).data,
                   .d_log_sums = k.inputs.size() > 4 ? k.in(4).data : nullptr,
                   .dq = dqkv,
                   .dk = dqkv,
                   .dv = dqkv});
}

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table.add("attention", {run_attention, [](const OpInputs& in, std::span<const TensorType>) {
                            return prepare(ops::attention_shape(in), in.dtype(0));
                          }});
  table.add("attention_grad",
            {run_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_grad(ops::attention_shape(in), in.dtype(0), in.count() > 6);
             }});
  table.add("self_attention",
            {run_self_attention, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare(ops::self_attention_shape(in), in.dtype(0));
             }});
  table.add("self_attention_grad",
            {run_self_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_grad(ops::self_attention_shape(in), in.dtype(0), in.count() > 4);
             }});
}

}  // namespace plimsoll::cuda
