// conv2d, its gradient by the input (conv2d_transpose) and by the weight. Each is linear in both
// of its inputs, and their gradients are each other.
#include <plimsoll/ops/convolution.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/convolution_route.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tf32.h>

namespace plimsoll::ops {
namespace {

Cost cost_of(const OpInputs& inputs, std::span<const TensorType> outputs, double flops) {
  Cost cost{.flops = flops, .bytes = static_cast<double>(outputs[0].bytes())};
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Bytes workspace_of(const ConvWork& work) {
  return conv_route(work.shape, work.pass, work.dtype, work.tf32).workspace;
}

// Each op's own way to its extents.

ConvWork forward_work(const OpInputs& in, std::span<const TensorType>) {
  return {conv_shape(in, in.shape(0), in.shape(1)), ConvPass::forward, in.dtype(0),
          uses_tf32(in.attributes())};
}
ConvWork by_input_work(const OpInputs& in, std::span<const TensorType> out) {
  return {conv_shape(in, out[0].shape, in.shape(1)), ConvPass::by_input, in.dtype(0),
          uses_tf32(in.attributes())};
}
ConvWork by_weight_work(const OpInputs& in, std::span<const TensorType> out) {
  return {conv_shape(in, in.shape(0), out[0].shape), ConvPass::by_weight, in.dtype(0),
          uses_tf32(in.attributes())};
}

using WorkOf = ConvWork (*)(const OpInputs&, std::span<const TensorType>);

template <WorkOf Work>
Cost conv_cost(const OpInputs& in, std::span<const TensorType> out) {
  return cost_of(in, out, Work(in, out).shape.flops());
}
template <WorkOf Work>
Bytes conv_workspace(const OpInputs& in, std::span<const TensorType> out) {
  return workspace_of(Work(in, out));
}
template <WorkOf Work>
GpuWork conv_gpu_work(const OpInputs& in, std::span<const TensorType> out) {
  return {Work(in, out)};
}

/// Both factors of a product: the gradient of one reads the other.
Kept keep_the_other(std::uint32_t needed) {
  return {.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
}

/// `attributes` without "shape", or with that one.
Attributes with_shape(const Attributes& attributes, const Shape* shape) {
  Attributes result;
  for (const auto& [name, value] : attributes.entries()) {
    if (name != "shape") result.set(name, value);
  }
  if (shape != nullptr) result.set("shape", to_integers(*shape));
  return result;
}

std::vector<TensorType> conv2d_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const ConvShape s = conv_shape(inputs, inputs.shape(0), inputs.shape(1));
  if (inputs.count() > 2 && inputs.shape(2) != Shape{s.out_channels}) {
    inputs.fail(fmt::format("the bias must be [{}]", s.out_channels));
  }
  return {{inputs.dtype(0), s.out_shape()}};
}

std::vector<TensorType> transpose_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape shape = inputs.attributes().shape("shape");
  const ConvShape s = conv_shape(inputs, shape, inputs.shape(1));
  if (inputs.shape(0) != s.out_shape()) {
    inputs.fail(fmt::format("a convolution of {} gives {}, not {}", shape.to_string(),
                            s.out_shape().to_string(), inputs.shape(0).to_string()));
  }
  return {{inputs.dtype(0), shape}};
}

std::vector<TensorType> weight_grad_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape shape = inputs.attributes().shape("shape");
  const ConvShape s = conv_shape(inputs, inputs.shape(0), shape);
  if (inputs.shape(1) != s.out_shape()) {
    inputs.fail(fmt::format("a convolution of {} gives {}, not {}", inputs.shape(0).to_string(),
                            s.out_shape().to_string(), inputs.shape(1).to_string()));
  }
  return {{inputs.dtype(0), shape}};
}

void conv2d_gradient(GradientContext& g);
void transpose_gradient(GradientContext& g);
void weight_grad_gradient(GradientContext& g);

const OpDef kConv2d = {
    .name = "conv2d",
    .family = "convolution",
    .summary = "cross-correlation of images with a weight, plus a bias",
    .inputs = 2,
    .optional_inputs = 1,
    .types = conv2d_types,
    .gradient = conv2d_gradient,
    .kept = keep_the_other,
    .cost = conv_cost<forward_work>,
    .workspace = conv_workspace<forward_work>,
    .precision = Precision::compute,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1, .asks = true},
    .gpu_work = conv_gpu_work<forward_work>,
};

const OpDef kConvTranspose = {
    .name = "conv2d_transpose",
    .family = "convolution",
    .summary = "the gradient of conv2d by its input",
    .inputs = 2,
    .types = transpose_types,
    .gradient = transpose_gradient,
    .kept = keep_the_other,
    .cost = conv_cost<by_input_work>,
    .workspace = conv_workspace<by_input_work>,
    .precision = Precision::compute,
    .channels =
        {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1, .shape = true, .asks = true},
    .gpu_work = conv_gpu_work<by_input_work>,
};

const OpDef kWeightGrad = {
    .name = "conv2d_weight_grad",
    .family = "convolution",
    .summary = "the gradient of conv2d by its weight",
    .inputs = 2,
    .types = weight_grad_types,
    .gradient = weight_grad_gradient,
    .kept = keep_the_other,
    .cost = conv_cost<by_weight_work>,
    .workspace = conv_workspace<by_weight_work>,
    .precision = Precision::compute,
    .channels = {.rule = ChannelRule::picture, .inputs = 3, .outputs = 0, .asks = true},
    .gpu_work = conv_gpu_work<by_weight_work>,
};

Tensor forward(const Tensor& x, const Tensor& weight, const Attributes& attributes) {
  return call_one(kConv2d, {x, weight}, with_shape(attributes, nullptr));
}
Tensor by_input(const Tensor& dy, const Tensor& weight, const Attributes& attributes,
                const Shape& shape) {
  return call_one(kConvTranspose, {dy, weight}, with_shape(attributes, &shape));
}
Tensor by_weight(const Tensor& x, const Tensor& dy, const Attributes& attributes,
                 const Shape& shape) {
  return call_one(kWeightGrad, {x, dy}, with_shape(attributes, &shape));
}

void conv2d_gradient(GradientContext& g) {
  const Attributes& attributes = g.attributes();
  if (g.needs(1)) g.set(1, by_weight(g.input(0), g.grad(), attributes, g.input_type(1).shape));
  if (g.input_count() > 2 && g.needs(2)) {
    const PictureAxes axes = axes_of(attributes.flag("nhwc"));
    g.set(2, sum(g.grad(), {.axes = {0, axes.height, axes.width}}));
  }
  // Last: the input can go before the gradient of its size comes.
  if (g.needs(0)) g.set(0, by_input(g.grad(), g.input(1), attributes, g.input_type(0).shape));
}

void transpose_gradient(GradientContext& g) {
  if (g.needs(1)) {
    g.set(1, by_weight(g.grad(), g.input(0), g.attributes(), g.input_type(1).shape));
  }
  if (g.needs(0)) g.set(0, forward(g.grad(), g.input(1), g.attributes()));
}

void weight_grad_gradient(GradientContext& g) {
  if (g.needs(0)) {
    g.set(0, by_input(g.input(1), g.grad(), g.attributes(), g.input_type(0).shape));
  }
  if (g.needs(1)) g.set(1, forward(g.input(0), g.grad(), g.attributes()));
}

constexpr std::array kConvolutionOps = {&kConv2d, &kConvTranspose, &kWeightGrad};

const RegisterOps kConvolutionRegistered(kConvolutionOps);

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return call_one(kConv2d, {x, weight, bias}, conv_attributes(options));
}

Tensor conv2d_transpose(const Tensor& y, const Tensor& weight, const Shape& shape,
                        const ConvOptions& options) {
  return by_input(y, weight, conv_attributes(options), shape);
}

}  // namespace plimsoll::ops
