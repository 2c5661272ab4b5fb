// conv2d, conv2d_transpose, conv2d_weight_grad: by cuDNN where it takes the shape, else by the
// plain kernels.
#include "backend/cuda/convolution.h"

#include <fmt/format.h>

#include <plimsoll/base/log.h>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::KernelState;
using ops::OpInputs;

struct ConvState final : KernelState {
  ConvSpec spec;
  std::optional<FusedConv> fused;
  Bytes weight = 0;       ///< bytes at the start of the workspace for the weight in another order
  bool add_bias = false;  ///< after the convolution
};

bool is_empty(const ops::ConvShape& s) {
  return s.in_shape().elements() == 0 || s.out_shape().elements() == 0 ||
         s.weight_shape().elements() == 0;
}

/// Whether the weight's two orders are the same.
bool is_one_order(const ops::ConvShape& s) {
  return !s.nhwc || s.kernel_height * s.kernel_width == 1 || s.in_channels == s.groups;
}

const char* name_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::by_input:
      return "conv2d_transpose";
    case ConvPass::by_weight:
      return "conv2d_weight_grad";
    default:
      return "conv2d";
  }
}

/// Says once for each shape that only the plain kernels take it, where that takes time.
void tell_of_plain(const ConvSpec& spec) {
  constexpr double kWorthAWord = 1e9;
  if (spec.shape.flops() < kWorthAWord) return;
  const std::string name =
      fmt::format("[{}] {}, pictures {}, weight {}, {}", name_of(spec.pass), dtype_name(spec.dtype),
                  spec.shape.in_shape().to_string(), spec.shape.weight_shape().to_string(),
                  spec.shape.nhwc ? "channels last" : "channels first");
  if (!Libraries::current()->is_first(name)) return;
#if PLIMSOLL_HAS_CUDNN
  log_warning(name + ": plain kernels, many times slower than others; cuDNN has no plan within " +
              format_bytes(ops::kWorkspaceSlot) + "; PLIMSOLL_LOG=debug tells why");
#else
  log_warning(name + ": plain kernels, many times slower than others; build with cuDNN");
#endif
}

std::shared_ptr<ConvState> choose(const ConvSpec& spec) {
  auto state = std::make_shared<ConvState>();
  state->spec = spec;
  Bytes weight = 0;
  if (!is_one_order(spec.shape)) {
    const auto elements = static_cast<Bytes>(spec.shape.weight_shape().elements());
    weight = align_up(elements * dtype_size(spec.dtype), 256);
  }
  const Bytes limit = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
  if (weight >= limit) return state;
  state->fused = fuse_conv(spec, limit - weight);
  if (!state->fused && spec.bias && spec.dtype == DType::f32) {
    // Sums in f32 lose nothing by being stored before the bias is added.
    ConvSpec bare = spec;
    bare.bias = false;
    state->fused = fuse_conv(bare, limit - weight);
    state->add_bias = state->fused.has_value();
  }
  if (!state->fused) return state;
  state->weight = weight;
  state->workspace = weight + state->fused->workspace;
  return state;
}

std::shared_ptr<const KernelState> prepare(const ConvSpec& spec) {
  if (spec.dtype == DType::f64 || is_empty(spec.shape)) {
    auto state = std::make_shared<ConvState>();
    state->spec = spec;
    return state;
  }
  auto state = choose(spec);
  if (!state->fused) tell_of_plain(spec);
  return state;
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const ConvState&>(*k.state);
  const ConvSpec& spec = state.spec;
  const cudaStream_t stream = queue_of(k);
  ConvArrays arrays;
  switch (spec.pass) {
    case ConvPass::forward:
      arrays = {.x = k.in(0).data, .w = k.in(1).data, .y = k.out(0).data};
      if (spec.bias) arrays.bias = k.in(2).data;
      break;
    case ConvPass::by_input:
      arrays = {.x = k.out(0).data, .w = k.in(1).data, .y = k.in(0).data};
      break;
    case ConvPass::by_weight:
      arrays = {.x = k.in(0).data, .w = k.out(0).data, .y = k.in(1).data};
      break;
  }
  if (!state.fused) return plain_conv(spec, arrays, stream);
  void* weight = arrays.w;
  const bool reordered = state.weight != 0;
  if (reordered) {
    arrays.w = k.workspace;
    if (spec.pass != ConvPass::by_weight) reorder_weight(spec, weight, arrays.w, false, stream);
  }
  run_fused_conv(*state.fused, arrays, static_cast<std::byte*>(k.workspace) + state.weight, stream);
  if (reordered && spec.pass == ConvPass::by_weight) {
    reorder_weight(spec, arrays.w, weight, true, stream);
  }
  if (state.add_bias) add_conv_bias(spec, arrays.y, arrays.bias, stream);
}

}  // namespace

void add_convolution_kernels(KernelTable& table) {
  table.add("conv2d", {run, [](const OpInputs& in, std::span<const TensorType>) {
                         return prepare({ops::conv_shape(in, in.shape(0), in.shape(1)),
                                         ConvPass::forward, in.dtype(0), in.count() > 2});
                       }});
  table.add("conv2d_transpose", {run, [](const OpInputs& in, std::span<const TensorType> out) {
                                   return prepare({ops::conv_shape(in, out[0].shape, in.shape(1)),
                                                   ConvPass::by_input, in.dtype(0)});
                                 }});
  table.add("conv2d_weight_grad", {run, [](const OpInputs& in, std::span<const TensorType> out) {
                                     return prepare({ops::conv_shape(in, in.shape(0), out[0].shape),
                                                     ConvPass::by_weight, in.dtype(0)});
                                   }});
}

}  // namespace plimsoll::cuda
