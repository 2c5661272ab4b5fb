// attention and self_attention: by cuDNN where it takes the shape, else by the plain kernels.
#include "backend/cuda/attention.h"

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
};

std::shared_ptr<const KernelState> prepare(const AttentionShape& shape, DType dtype) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  if (ops::fused_attention(shape, dtype)) {
    state->fused = fuse_attention(shape, dtype, false, shape.batches,
                                  ops::kWorkspaceSlot - ops::kWorkspaceReserve);
  }
  if (state->fused) state->workspace = state->fused->workspace;
  return state;
}

/// `more`: the logarithms of the sums have a gradient, too.
std::shared_ptr<const KernelState> prepare_grad(const AttentionShape& shape, DType dtype,
                                                bool more) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  const Bytes limit = ops::attention_grad_workspace(shape, dtype);
  if (ops::fused_attention(shape, dtype) && !more) {
    // Fewer at a time where the library wants more than was foreseen.
    for (std::int64_t n = ops::fused_attention_grad_batches(shape); n > 0 && !state->fused; --n) {
      const Bytes beside = ops::fused_attention_sums(shape, n) + ops::kAttentionOverread;
      if (shape.batches % n != 0 || beside >= limit) continue;
      state->fused = fuse_attention(shape, dtype, true, n, limit - beside);
      if (state->fused) state->workspace = state->fused->workspace + beside;
    }
  }
  if (!state->fused) state->workspace = ops::plain_attention_grad_workspace(shape, dtype);
  return state;
}

void run_forward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  if (state.fused) return run_fused_attention(*state.fused, arrays, k.workspace, queue_of(k));
  plain_attention(state.shape, k.in(0).dtype(), arrays, queue_of(k));
}

void run_backward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
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
