// conv2d and its gradients by our own kernels alone, for the backend "emulated".
#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {
namespace {

using ops::KernelState;
using ops::OpInputs;

struct State final : KernelState {
  explicit State(const ConvSpec& s) : spec(s) {
    const ops::ConvRoute route = ops::conv_route(s.shape, s.pass, s.dtype, s.tf32);
    depthwise = route.kernel == ops::ConvKernel::depthwise;
    if (depthwise) workspace = route.workspace;
  }
  ConvSpec spec;
  bool depthwise = false;
};

void run(const KernelContext& k) {
  const auto& state = static_cast<const State&>(*k.state);
  ConvArrays arrays;
  switch (state.spec.pass) {
    case ConvPass::forward:
      arrays = {.x = k.in(0).data, .w = k.in(1).data, .y = k.out(0).data};
      if (state.spec.bias) arrays.bias = k.in(2).data;
      break;
    case ConvPass::by_input:
      arrays = {.x = k.out(0).data, .w = k.in(1).data, .y = k.in(0).data};
      break;
    case ConvPass::by_weight:
      arrays = {.x = k.in(0).data, .w = k.out(0).data, .y = k.in(1).data};
      break;
  }
  state.depthwise ? depthwise_conv(state.spec, arrays, k.workspace, nullptr)
                  : plain_conv(state.spec, arrays, nullptr);
}

template <ConvPass Pass>
std::shared_ptr<const KernelState> prepare(const OpInputs& in, std::span<const TensorType> out) {
  const bool forward = Pass == ConvPass::forward;
  const Shape& x = Pass == ConvPass::by_input ? out[0].shape : in.shape(0);
  const Shape& w = Pass == ConvPass::by_weight ? out[0].shape : in.shape(1);
  return std::make_shared<State>(ConvSpec{.shape = ops::conv_shape(in, x, w),
                                          .pass = Pass,
                                          .dtype = in.dtype(0),
                                          .bias = forward && in.count() > 2});
}

const RegisterKernels kRegistered("emulated", [](KernelTable& table) {
  table.add("conv2d", {run, prepare<ConvPass::forward>});
  table.add("conv2d_transpose", {run, prepare<ConvPass::by_input>});
  table.add("conv2d_weight_grad", {run, prepare<ConvPass::by_weight>});
});

}  // namespace
}  // namespace plimsoll::cuda
