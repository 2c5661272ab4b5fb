// conv2d, conv2d_transpose, conv2d_weight_grad: by oneDNN, else by the plain kernel.
#include "backend/cpu/convolution.h"

#include <plimsoll/base/parallel.h>

#include "backend/cpu/blas.h"

namespace plimsoll::cpu {
namespace {

using ops::KernelState;
using ops::OpInputs;

struct ConvState final : KernelState {
  ConvSpec spec;
  int threads = 1;
  std::unique_ptr<const OnednnConv> onednn;
};

std::shared_ptr<const KernelState> prepare(const ConvSpec& spec) {
  auto state = std::make_shared<ConvState>();
  state->spec = spec;
  state->threads = compute_threads();
  state->onednn = make_onednn_conv(spec, state->threads);
  state->workspace =
      state->onednn != nullptr ? state->onednn->workspace() : plain_conv_workspace(spec);
  return state;
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const ConvState&>(*k.state);
  ConvArguments arguments{.workspace = k.workspace};
  switch (state.spec.pass) {
    case ConvPass::forward:
      arguments.x = k.in(0).data;
      arguments.w = k.in(1).data;
      arguments.y = k.out(0).data;
      arguments.bias = state.spec.bias ? k.in(2).data : nullptr;
      break;
    case ConvPass::by_input:
      arguments.y = k.in(0).data;
      arguments.w = k.in(1).data;
      arguments.x = k.out(0).data;
      break;
    case ConvPass::by_weight:
      arguments.x = k.in(0).data;
      arguments.y = k.in(1).data;
      arguments.w = k.out(0).data;
      break;
  }
  const ThreadsScope threads(state.threads);
  if (state.onednn != nullptr) return state.onednn->run(arguments);
  plain_conv(state.spec, arguments);
}

void add_kernels(KernelTable& table) {
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

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
