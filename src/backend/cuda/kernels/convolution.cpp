// conv2d, conv2d_transpose, conv2d_weight_grad: by the kernels that their route names; by the plain
// ones where cuDNN has no plan.
#include "backend/cuda/kernels/convolution.h"

#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/log.h>
#include <plimsoll/ops/tf32.h>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/convolution_request.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::KernelState;
using ops::OpInputs;

/// So many pictures of the batch, by one plan.
struct ConvPart {
  std::int64_t pictures = 0;
  FusedConv fused;
};

struct ConvState final : KernelState {
  ConvSpec spec;
  ops::ConvRoute route;
  std::vector<ConvPart> parts;           ///< one after another; empty where cuDNN is not used
  bool add_bias = false;                 ///< after the convolution
  std::optional<ConvProducts> products;  ///< where the route says so
};

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

/// Says once for each shape what makes it slow, where that takes time.
void tell_of_slow(const ConvSpec& spec, const std::string& why) {
  constexpr double kWorthAWord = 1e9;
  if (spec.shape.flops() < kWorthAWord) return;
  const std::string name =
      fmt::format("[{}] {}, pictures {}, weight {}, {}", name_of(spec.pass), dtype_name(spec.dtype),
                  spec.shape.in_shape().to_string(), spec.shape.weight_shape().to_string(),
                  spec.shape.nhwc ? "channels last" : "channels first");
  if (Libraries::current()->is_first(name)) log_warning(name + ": " + why);
}

void tell_of_plain(const ConvState& state) {
#if PLIMSOLL_HAS_CUDNN
  tell_of_slow(state.spec,
               "plain kernels, many times slower than others; cuDNN has no plan within " +
                   format_bytes(state.route.workspace) + "; PLIMSOLL_LOG=debug says why");
#else
  tell_of_slow(state.spec, "plain kernels, many times slower than others; build with cuDNN");
#endif
}

/// cuDNN's plans for the parts of the batch; false where one of them has none.
bool fuse_parts(ConvState& state, const ConvRequest& request) {
  state.parts.clear();
  for (const ConvSpec& part : request.parts) {
    const auto fused = fuse_conv(part, request.bounds);
    if (!fused) return false;
    state.parts.push_back({part.shape.n, *fused});
  }
  return true;
}

void choose(ConvState& state) {
  for (const ConvRequest& request : library_requests(state.spec, state.route)) {
    if (!fuse_parts(state, request)) continue;
    state.add_bias = request.adds_bias;
    if (wants_matrix_units(state.spec) && !request.bounds.matrix_units) {
      tell_of_slow(state.spec, "cuDNN has no kernel with matrix units for it within " +
                                   format_bytes(state.route.workspace) +
                                   ", and others are many times slower; numbers of channels (per "
                                   "group) that are powers of 2 have some");
    }
    const Bytes taken = state.route.weight + state.route.sums;
    for (const ConvPart& part : state.parts) {
      state.workspace = std::max(state.workspace, taken + part.fused.workspace);
    }
    return;
  }
  state.parts.clear();
  tell_of_plain(state);
}

std::shared_ptr<const KernelState> prepare(const ConvSpec& spec) {
  auto state = std::make_shared<ConvState>();
  state->spec = spec;
  state->route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
  if (state->route.kernel == ops::ConvKernel::library) choose(*state);
  if (state->route.kernel == ops::ConvKernel::depthwise) {
    state->workspace = state->route.workspace;
  }
  if (state->route.kernel == ops::ConvKernel::products) {
    state->products.emplace(spec);
    state->workspace = state->products->workspace();
  }
  return state;
}

std::byte* moved(void* data, Bytes bytes) { return static_cast<std::byte*>(data) + bytes; }

/// The parts of the batch one after another; `arrays.w` is in the order of the pictures.
void run_parts(const ConvState& state, const ConvArrays& arrays, std::byte* workspace,
               cudaStream_t stream) {
  const ConvSpec& spec = state.spec;
  const auto size = dtype_size(spec.dtype);
  const Bytes x = static_cast<Bytes>(spec.shape.in_shape().elements() / spec.shape.n) * size;
  const Bytes y = static_cast<Bytes>(spec.shape.out_shape().elements() / spec.shape.n) * size;
  const std::int64_t weights = spec.shape.weight_shape().elements();
  const bool adds = state.parts.size() > 1 && state.route.sums != 0;
  auto* sums = reinterpret_cast<float*>(workspace);
  ConvArrays part = arrays;
  if (adds) part.w = workspace + align_up(static_cast<Bytes>(weights) * 4, 256);
  bool first = true;
  for (const ConvPart& each : state.parts) {
    run_fused_conv(each.fused, part, workspace + state.route.sums, stream);
    if (adds) add_part(spec.dtype, sums, part.w, weights, first, stream);
    first = false;
    part.x = moved(part.x, x * static_cast<Bytes>(each.pictures));
    part.y = moved(part.y, y * static_cast<Bytes>(each.pictures));
  }
  if (adds) round_sums(spec.dtype, arrays.w, sums, weights, stream);
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
  if (state.route.kernel == ops::ConvKernel::depthwise) {
    return depthwise_conv(spec, arrays, k.workspace, stream);
  }
  if (state.products) return state.products->run(arrays, k.workspace, stream);
  if (state.parts.empty()) return plain_conv(spec, arrays, stream);
  void* weight = arrays.w;
  auto* workspace = static_cast<std::byte*>(k.workspace);
  const bool reordered = state.route.weight != 0;
  if (reordered) {
    arrays.w = workspace;
    if (spec.pass != ConvPass::by_weight) reorder_weight(spec, weight, arrays.w, false, stream);
  }
  run_parts(state, arrays, workspace + state.route.weight, stream);
  if (reordered && spec.pass == ConvPass::by_weight) {
    reorder_weight(spec, arrays.w, weight, true, stream);
  }
  if (state.add_bias) add_conv_bias(spec, arrays.y, arrays.bias, stream);
}

void add_kernels(KernelTable& table) {
  table.add("conv2d",
            {run, [](const OpInputs& in, std::span<const TensorType>) {
               return prepare({ops::conv_shape(in, in.shape(0), in.shape(1)), ConvPass::forward,
                               in.dtype(0), in.count() > 2, ops::uses_tf32(in.attributes())});
             }});
  table.add("conv2d_transpose",
            {run, [](const OpInputs& in, std::span<const TensorType> out) {
               return prepare({ops::conv_shape(in, out[0].shape, in.shape(1)), ConvPass::by_input,
                               in.dtype(0), false, ops::uses_tf32(in.attributes())});
             }});
  table.add("conv2d_weight_grad",
            {run, [](const OpInputs& in, std::span<const TensorType> out) {
               return prepare({ops::conv_shape(in, in.shape(0), out[0].shape), ConvPass::by_weight,
                               in.dtype(0), false, ops::uses_tf32(in.attributes())});
             }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
