#if PLIMSOLL_HAS_CUDNN

#include "backend/cuda/libraries/convolution_graph.h"

namespace plimsoll::cuda {
namespace {

using ops::ConvShape;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Extents = std::vector<std::int64_t>;

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
  const auto input = [&](const char* name, ConvUid uid, const Extents& d) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_uid(uid)
                            .set_data_type(type)
                            .set_dim(d)
                            .set_stride(strides(s.nhwc, d)));
  };
  const auto output = [&](const Tensor& tensor, ConvUid uid, const Extents& d) {
    tensor->set_output(true).set_uid(uid).set_data_type(type).set_dim(d).set_stride(
        strides(s.nhwc, d));
  };
  switch (spec.pass) {
    case ConvPass::forward: {
      Tensor y = graph.conv_fprop(input("x", kConvX, dims.x), input("w", kConvW, dims.w),
                                  options_of<fe::graph::Conv_fprop_attributes>(s));
      if (spec.bias) {
        y->set_dim(dims.y).set_stride(strides(s.nhwc, dims.y));
        y = graph.pointwise(y, input("bias", kConvBias, {1, s.out_channels, 1, 1}),
                            fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
      }
      return output(y, kConvY, dims.y);
    }
    case ConvPass::by_input:
      return output(graph.conv_dgrad(input("y", kConvY, dims.y), input("w", kConvW, dims.w),
                                     options_of<fe::graph::Conv_dgrad_attributes>(s)),
                    kConvX, dims.x);
    case ConvPass::by_weight:
      return output(graph.conv_wgrad(input("y", kConvY, dims.y), input("x", kConvX, dims.x),
                                     options_of<fe::graph::Conv_wgrad_attributes>(s)),
                    kConvW, dims.w);
  }
}

/// What the plan of a convolution must not do.
std::vector<fe::NumericalNote_t> forbidden(const ConvSpec& spec) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> without = {
      Note::NONDETERMINISTIC,   Note::REDUCED_PRECISION_REDUCTION, Note::FFT,
      Note::WINOGRAD,           Note::WINOGRAD_TILE_4x4,           Note::WINOGRAD_TILE_6x6,
      Note::WINOGRAD_TILE_13x13};
  // In f32 tensor cores round to TF32, which must be asked for.
  const bool tf32 = spec.dtype == DType::f32 && spec.tf32;
  if (!tf32) without.push_back(Note::DOWN_CONVERT_INPUTS);
  if (spec.dtype == DType::f32 && !tf32) without.push_back(Note::TENSOR_CORE);
  return without;
}

}  // namespace

std::optional<GraphPlan> plan_conv(const ConvSpec& spec, const CudnnTarget& target,
                                   const PlanBounds& bounds, fe::graph::Graph& graph,
                                   const std::string& only) {
  describe(spec, graph);
  return build_graph(graph, target, bounds, forbidden(spec), only);
}

}  // namespace plimsoll::cuda

#endif
