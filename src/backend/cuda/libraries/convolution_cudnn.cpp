#include "backend/cuda/kernels/convolution.h"

#if PLIMSOLL_HAS_CUDNN

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "backend/cuda/libraries/cudnn_graph.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::ConvShape;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Extents = std::vector<std::int64_t>;

enum Uid : std::int64_t { kX = 1, kW, kY, kBias };

struct ConvPlan final : Libraries::Plan {
  fe::graph::Graph graph;
};

/// The strides of [n, channels, height, width] in the order of the pictures.
Extents strides(bool nhwc, const Extents& d) {
  if (nhwc) return {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}

struct Dims {
  Extents x;
  Extents w;
  Extents y;
};

Dims dims_of(const ConvShape& s) {
  return {{s.n, s.in_channels, s.in_height, s.in_width},
          {s.out_channels, s.in_channels / s.groups, s.kernel_height, s.kernel_width},
          {s.n, s.out_channels, s.out_height, s.out_width}};
}

template <typename Options>
Options options_of(const ConvShape& s) {
  Options options;
  options.set_pre_padding({s.padding.top, s.padding.left})
      .set_post_padding({s.padding.bottom, s.padding.right})
      .set_stride({s.stride_down, s.stride_across})
      .set_dilation({s.dilation_down, s.dilation_across});
  return options;
}

void describe(const ConvSpec& spec, fe::graph::Graph& graph) {
  const ConvShape& s = spec.shape;
  const Dims dims = dims_of(s);
  const fe::DataType_t type = cudnn_type(spec.dtype);
  graph.set_io_data_type(type)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto input = [&](const char* name, Uid uid, const Extents& d) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_uid(uid)
                            .set_data_type(type)
                            .set_dim(d)
                            .set_stride(strides(s.nhwc, d)));
  };
  const auto output = [&](const Tensor& tensor, Uid uid, const Extents& d) {
    tensor->set_output(true).set_uid(uid).set_data_type(type).set_dim(d).set_stride(
        strides(s.nhwc, d));
  };
  switch (spec.pass) {
    case ConvPass::forward: {
      Tensor y = graph.conv_fprop(input("x", kX, dims.x), input("w", kW, dims.w),
                                  options_of<fe::graph::Conv_fprop_attributes>(s));
      if (spec.bias) {
        y->set_dim(dims.y).set_stride(strides(s.nhwc, dims.y));
        y = graph.pointwise(y, input("bias", kBias, {1, s.out_channels, 1, 1}),
                            fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
      }
      return output(y, kY, dims.y);
    }
    case ConvPass::by_input:
      return output(graph.conv_dgrad(input("y", kY, dims.y), input("w", kW, dims.w),
                                     options_of<fe::graph::Conv_dgrad_attributes>(s)),
                    kX, dims.x);
    case ConvPass::by_weight:
      return output(graph.conv_wgrad(input("y", kY, dims.y), input("x", kX, dims.x),
                                     options_of<fe::graph::Conv_wgrad_attributes>(s)),
                    kW, dims.w);
  }
}

std::shared_ptr<const Libraries::Plan> make_plan(const ConvSpec& spec, cudnnHandle_t handle,
                                                 Bytes limit) {
  auto plan = std::make_shared<ConvPlan>();
  describe(spec, plan->graph);
  using Note = fe::NumericalNote_t;
  std::vector<Note> without = {
      Note::NONDETERMINISTIC,   Note::REDUCED_PRECISION_REDUCTION, Note::FFT,
      Note::WINOGRAD,           Note::WINOGRAD_TILE_4x4,           Note::WINOGRAD_TILE_6x6,
      Note::WINOGRAD_TILE_13x13};
  // In f32 tensor cores round to TF32, which must be asked for.
  const bool tf32 = spec.dtype == DType::f32 && spec.tf32;
  if (!tf32) without.push_back(Note::DOWN_CONVERT_INPUTS);
  if (spec.dtype == DType::f32 && !tf32) without.push_back(Note::TENSOR_CORE);
  const std::optional<Bytes> workspace = build_graph(plan->graph, handle, limit, without);
  if (!workspace) return nullptr;
  plan->workspace = *workspace;
  return plan;
}

std::string key_of(const ConvSpec& spec, Bytes limit) {
  const ConvShape& s = spec.shape;
  return fmt::format("conv{} {} {} {} {} {} {}x{} {}x{} {}x{} {} {}.{}.{}.{} {}x{} {}",
                     static_cast<int>(spec.pass), dtype_name(spec.dtype), spec.tf32, spec.bias,
                     s.nhwc, s.in_shape().to_string(), s.out_channels, s.groups, s.kernel_height,
                     s.kernel_width, s.stride_down, s.stride_across, s.n, s.padding.top,
                     s.padding.bottom, s.padding.left, s.padding.right, s.dilation_down,
                     s.dilation_across, limit);
}

}  // namespace

std::optional<FusedConv> fuse_conv(const ConvSpec& spec, Bytes limit) {
  FusedConv fused{.spec = spec, .key = key_of(spec, limit)};
  const auto plan = Libraries::current()->plan(
      fused.key, [&](cudnnHandle_t handle) { return make_plan(spec, handle, limit); });
  if (plan == nullptr) return std::nullopt;
  fused.workspace = plan->workspace;
  return fused;
}

void run_fused_conv(const FusedConv& fused, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream) {
  const auto libraries = Libraries::current();
  // Another device than the one it was prepared on makes a plan of its own.
  const auto plan = libraries->plan(fused.key, [&](cudnnHandle_t handle) {
    return make_plan(fused.spec, handle, fused.workspace);
  });
  if (plan == nullptr || plan->workspace > fused.workspace) {
    throw DeviceError("[conv2d] was prepared for another kind of device");
  }
  std::unordered_map<std::int64_t, void*> pack = {{kX, arrays.x}, {kW, arrays.w}, {kY, arrays.y}};
  if (fused.spec.bias) pack.emplace(kBias, const_cast<void*>(arrays.bias));
  libraries->with_cudnn(stream, [&](cudnnHandle_t handle) {
    run_graph(static_cast<const ConvPlan&>(*plan).graph, handle, pack, workspace, "conv2d");
  });
}

}  // namespace plimsoll::cuda

#else

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {

std::optional<FusedConv> fuse_conv(const ConvSpec&, Bytes) { return std::nullopt; }
void run_fused_conv(const FusedConv&, const ConvArrays&, void*, cudaStream_t) {
  throw InternalError("[conv2d] there is no cuDNN");
}

}  // namespace plimsoll::cuda

#endif
