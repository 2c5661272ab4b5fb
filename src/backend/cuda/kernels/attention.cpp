// attention and self_attention: in 16 bits by cuDNN where it takes the shape, but the gradient of
// few tokens by our own kernel; else by our own for few tokens. In f32 and f64 by matrix products.
// Whatever is left goes to the plain kernels.
#include "backend/cuda/kernels/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <plimsoll/backend/common/attention_inputs.h>
#include <plimsoll/base/log.h>

#include <plimsoll/ops/attention_route.h>
#include <plimsoll/ops/tf32.h>

#include "backend/cuda/kernels/attention_chunked.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using backend::AttentionExtras;
using ops::AttentionShape;
using ops::KernelState;
using ops::OpInputs;

constexpr Bytes kSlot = ops::kWorkspaceSlot - ops::kWorkspaceReserve;

struct AttentionState final : KernelState {
  AttentionShape shape;
  std::optional<FusedAttention> fused;
  std::optional<ChunkedAttention> chunked;
  bool few_tokens = false;
};

/// What is prepared, for messages.
std::string name_of(const AttentionShape& s, DType dtype, bool grad) {
  return fmt::format("[{}{}] {}, {} x {} heads of {}{}, {} queries, {} keys{}{}",
                     s.together ? "self_attention" : "attention", grad ? "_grad" : "",
                     dtype_name(dtype), s.batches, s.heads, s.size,
                     s.group > 1 ? fmt::format(" over {} of keys", s.key_heads()) : "", s.queries,
                     s.keys, s.causal ? ", causal" : "",
                     s.mask_batches > 0 ? ", with a mask of keys" : "");
}

/// What would bring a shape to faster kernels. `more`: see prepare_grad.
std::string remedy(const AttentionShape& s, DType dtype, bool grad, bool more) {
  if (ops::attention_route(s, dtype, grad, more) == ops::AttentionRoute::plain) {
    return ops::attention_remedy(s, dtype, more);
  }
#if PLIMSOLL_HAS_CUDNN
  return "cuDNN has no plan for this; PLIMSOLL_LOG=debug says why";
#else
  return "build with cuDNN";
#endif
}

/// Says once for each shape that only the plain kernels take it, where that takes time.
void tell_of_plain(const AttentionShape& s, DType dtype, bool grad, bool more) {
  if (s.units() * s.queries * s.keys < ops::kManyScores) return;
  const std::string name = name_of(s, dtype, grad);
  if (!Libraries::current()->is_first(name)) return;
  log_warning(name + ": plain kernels, many times slower than others; " +
              remedy(s, dtype, grad, more));
}

/// Whether the shape is one for matrix products, which are prepared then.
bool prepare_chunks(AttentionState& state, DType dtype, bool tf32, bool grad) {
  const AttentionShape apart = ops::with_heads_apart(state.shape);
  if (!ops::chunked_attention(apart, dtype)) return false;
  state.chunked.emplace(Libraries::current()->blas(), apart, dtype, tf32, grad);
  state.workspace = state.chunked->workspace();
  log_debug(fmt::format("{}: matrix products, {} bytes of workspace",
                        name_of(state.shape, dtype, grad), state.workspace));
  return true;
}

std::shared_ptr<const KernelState> prepare(const AttentionShape& shape, DType dtype, bool tf32) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  if (prepare_chunks(*state, dtype, tf32, false)) return state;
  if (ops::fused_attention(shape, dtype)) {
    state->fused =
        fuse_attention({.shape = shape, .dtype = dtype, .batches = shape.batches}, kSlot);
  }
  state->few_tokens =
      !state->fused && ops::short_attention(shape, dtype, false) && short_attention_fits(shape);
  if (state->fused) {
    state->workspace = state->fused->workspace;
    log_debug(name_of(shape, dtype, false) + ": cuDNN");
  } else if (state->few_tokens) {
    log_debug(name_of(shape, dtype, false) + ": kernels for few tokens");
  } else {
    tell_of_plain(shape, dtype, false, false);
  }
  return state;
}

/// How added keys are kept from counting.
struct Hiding {
  const char* name;
  bool masked = false;
  std::int64_t columns = 0;
};

/// Those that are sound for a shape, the fastest first.
std::vector<Hiding> hidings(const AttentionShape& s) {
  if (ops::has_whole_blocks(s)) return {{"no copies"}};
  if (s.causal) return {{"copies, added keys behind the causal mask"}};
  std::vector<Hiding> all;
  if (!ops::needs_marks(s)) all.push_back({"copies, added keys masked", true});
  all.push_back({"copies, added keys marked", false, ops::kMarks});
  return all;
}

/// The first plan within `limit` bytes. Fewer batches at a time where the library wants more than
/// was foreseen.
void fuse_gradient(AttentionState& state, DType dtype, Bytes limit) {
  const AttentionShape& s = state.shape;
  for (const Hiding& hiding : hidings(s)) {
    for (std::int64_t n = ops::fused_attention_grad_batches(s); n > 0; --n) {
      const Bytes copies = ops::attention_copies(s, n, hiding.columns).total();
      if (s.batches % n != 0 || copies >= limit) continue;
      state.fused = fuse_attention({.shape = ops::fused_attention_grad_shape(s, hiding.columns),
                                    .dtype = dtype,
                                    .grad = true,
                                    .masked = hiding.masked,
                                    .batches = n},
                                   limit - copies);
      if (!state.fused) continue;
      state.workspace = state.fused->workspace + copies;
      log_debug(fmt::format("{}: cuDNN, {}, {} batches at a time, {} bytes of workspace",
                            name_of(s, dtype, true), hiding.name, n, state.workspace));
      return;
    }
  }
}

/// `more`: the logarithms of the sums also have a gradient.
std::shared_ptr<const KernelState> prepare_grad(const AttentionShape& shape, DType dtype, bool tf32,
                                                bool more) {
  auto state = std::make_shared<AttentionState>();
  state->shape = shape;
  if (prepare_chunks(*state, dtype, tf32, true)) return state;
  state->few_tokens = ops::short_attention(shape, dtype, true) && short_attention_fits(shape);
  if (state->few_tokens) {
    log_debug(name_of(shape, dtype, true) + ": kernel for few tokens");
    return state;
  }
  const AttentionShape apart = ops::with_heads_apart(shape);
  if (ops::fused_attention_grad(apart, dtype) && !more) {
    state->shape = apart;
    fuse_gradient(*state, dtype, std::max(ops::attention_grad_workspace(apart, dtype), kSlot));
  }
  if (!state->fused) {
    state->workspace = ops::plain_attention_grad_workspace(shape, dtype);
    tell_of_plain(shape, dtype, true, more);
  }
  return state;
}

void run_chunks(const KernelContext& k, const AttentionState& state,
                const AttentionArrays& arrays) {
  state.chunked->run(Libraries::current()->blas(), arrays, k.workspace, queue_of(k));
}

void run_forward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  if (state.chunked) return run_chunks(k, state, arrays);
  if (state.few_tokens) return short_attention(state.shape, k.in(0).dtype(), arrays, queue_of(k));
  if (state.fused) return run_fused_attention(*state.fused, arrays, k.workspace, queue_of(k));
  plain_attention(state.shape, k.in(0).dtype(), arrays, queue_of(k));
}

void run_backward(const KernelContext& k, const AttentionArrays& arrays) {
  const auto& state = static_cast<const AttentionState&>(*k.state);
  if (state.chunked) return run_chunks(k, state, arrays);
  if (state.few_tokens) {
    return short_attention_grad(state.shape, k.in(0).dtype(), arrays, queue_of(k));
  }
  if (state.fused && !ops::has_whole_blocks(state.shape)) {
    return run_fused_attention_on_copies(state.shape, *state.fused, arrays, k.workspace,
                                         queue_of(k));
  }
  if (state.fused) return run_fused_attention(*state.fused, arrays, k.workspace, queue_of(k));
  plain_attention_grad(state.shape, k.in(0).dtype(), arrays, k.workspace, queue_of(k));
}

/// Whether there is a gradient by the sums, behind `inputs` and a mask.
bool has_sums_gradient(const OpInputs& in, int inputs) {
  return in.count() > inputs + (ops::mask_input(in) < 0 ? 0 : 1);
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
  const void* qkv = k.in(0).data;
  run_forward(k, {.q = qkv,
                  .k = qkv,
                  .v = qkv,
                  .y = k.out(0).data,
                  .log_sums = k.out(1).data,
                  .mask = AttentionExtras(k, 1).mask});
}

void run_self_attention_grad(const KernelContext& k) {
  const void* qkv = k.in(0).data;
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

void add_kernels(KernelTable& table) {
  table.add("attention", {run_attention, [](const OpInputs& in, std::span<const TensorType>) {
                            return prepare(ops::attention_shape(in), in.dtype(0),
                                           ops::uses_tf32(in.attributes()));
                          }});
  table.add("attention_grad",
            {run_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_grad(ops::attention_shape(in), in.dtype(0),
                                   ops::uses_tf32(in.attributes()), has_sums_gradient(in, 6));
             }});
  table.add("self_attention",
            {run_self_attention, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare(ops::self_attention_shape(in), in.dtype(0),
                              ops::uses_tf32(in.attributes()));
             }});
  table.add("self_attention_grad",
            {run_self_attention_grad, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare_grad(ops::self_attention_shape(in), in.dtype(0),
                                   ops::uses_tf32(in.attributes()), has_sums_gradient(in, 4));
             }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
