#include "backend/cuda/kernels/convolution.h"

#if PLIMSOLL_HAS_CUDNN

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "backend/cuda/libraries/convolution_graph.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::ConvShape;

struct ConvPlan final : Libraries::Plan {
  fe::graph::Graph graph;
};

std::shared_ptr<const Libraries::Plan> make_plan(const FusedConv& fused, Libraries& libraries,
                                                 cudnnHandle_t handle, const PlanBounds& bounds) {
  std::shared_ptr<ConvPlan> plan;
  const auto built = choose_graph(libraries.choices(), fused.key, [&](const std::string& only) {
    plan = std::make_shared<ConvPlan>();
    return plan_conv(fused.spec, {.handle = handle}, bounds, plan->graph, only);
  });
  if (!built) return nullptr;
  plan->workspace = built->workspace;
  return plan;
}

std::string key_of(const ConvSpec& spec, const PlanBounds& bounds) {
  const ConvShape& s = spec.shape;
  std::string more;
  if (bounds.offered > bounds.limit) more += " fastest";
  if (bounds.matrix_units) more += " matrix";
  return fmt::format("conv{} {} {} {} {} {} {}x{} {}x{} {}x{} {} {}.{}.{}.{} {}x{} {}{}",
                     static_cast<int>(spec.pass), dtype_name(spec.dtype), spec.tf32, spec.bias,
                     s.nhwc, s.in_shape().to_string(), s.out_channels, s.groups, s.kernel_height,
                     s.kernel_width, s.stride_down, s.stride_across, s.n, s.padding.top,
                     s.padding.bottom, s.padding.left, s.padding.right, s.dilation_down,
                     s.dilation_across, bounds.limit, more);
}

}  // namespace

std::optional<FusedConv> fuse_conv(const ConvSpec& spec, const PlanBounds& bounds) {
  FusedConv fused{.spec = spec, .key = key_of(spec, bounds), .bounds = bounds};
  const auto libraries = Libraries::current();
  const auto plan = libraries->plan(fused.key, [&](cudnnHandle_t handle) {
    return make_plan(fused, *libraries, handle, bounds);
  });
  if (plan == nullptr) return std::nullopt;
  fused.workspace = plan->workspace;
  return fused;
}

void run_fused_conv(const FusedConv& fused, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream) {
  const auto libraries = Libraries::current();
  // Another device than the one it was prepared on makes a plan of its own.
  const auto plan = libraries->plan(fused.key, [&](cudnnHandle_t handle) {
    return make_plan(fused, *libraries, handle, fused.bounds);
  });
  if (plan == nullptr || plan->workspace > fused.workspace) {
    throw DeviceError("[conv2d] was prepared for another kind of device");
  }
  std::unordered_map<std::int64_t, void*> pack = {
      {kConvX, arrays.x}, {kConvW, arrays.w}, {kConvY, arrays.y}};
  if (fused.spec.bias) pack.emplace(kConvBias, const_cast<void*>(arrays.bias));
  libraries->with_cudnn(stream, [&](cudnnHandle_t handle) {
    run_graph(static_cast<const ConvPlan&>(*plan).graph, handle, pack, workspace, "conv2d");
  });
}

}  // namespace plimsoll::cuda

#else

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {

std::optional<FusedConv> fuse_conv(const ConvSpec&, const PlanBounds&) { return std::nullopt; }
void run_fused_conv(const FusedConv&, const ConvArrays&, void*, cudaStream_t) {
  throw InternalError("[conv2d] there is no cuDNN");
}

}  // namespace plimsoll::cuda

#endif
