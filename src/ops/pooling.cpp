// Pools and nearest-neighbour upsampling.
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/convolution_shape.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::ops {
namespace {

double as_flops(std::int64_t elements, std::int64_t each) {
  return static_cast<double>(elements) * static_cast<double>(each);
}

Cost moved(const OpInputs& inputs, std::span<const TensorType> outputs, double flops) {
  Cost cost{.flops = flops};
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Cost pool_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  const auto& size = inputs.attributes().integers("size");
  return moved(inputs, outputs, as_flops(outputs[0].elements(), size.at(0) * size.at(1)));
}

/// Every input element once.
Cost input_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  return moved(inputs, outputs, as_flops(inputs[0].elements(), 1));
}

Attributes with_input_shape(const Attributes& attributes, const Shape& shape) {
  Attributes result = attributes;
  result.set("shape", to_integers(shape));
  return result;
}

/// Which pixel of its window won: a byte, unless a window has more pixels than that counts.
DType index_dtype(const ConvShape& s) {
  return s.kernel_height * s.kernel_width <= 256 ? DType::u8 : DType::i32;
}

/// The pool whose gradient an op is; `dy` must be of its result's shape.
ConvShape pool_of_gradient(const OpInputs& inputs) {
  const Shape shape = inputs.attributes().shape("shape");
  const ConvShape s = pool_shape(inputs, shape);
  if (inputs.shape(0) != s.out_shape()) {
    inputs.fail(fmt::format("a pool of {} gives {}, not {}", shape.to_string(),
                            s.out_shape().to_string(), inputs.shape(0).to_string()));
  }
  return s;
}

std::vector<TensorType> max_pool_types(const OpInputs& inputs) {
  const ConvShape s = pool_shape(inputs, inputs.shape(0));
  return {{inputs.dtype(0), s.out_shape()}, {index_dtype(s), s.out_shape()}};
}

std::vector<TensorType> max_pool_grad_types(const OpInputs& inputs) {
  const ConvShape s = pool_of_gradient(inputs);
  if (inputs[1] != TensorType{index_dtype(s), s.out_shape()}) {
    inputs.fail("the indices must be those that max_pool2d gave");
  }
  return {{inputs.dtype(0), s.in_shape()}};
}

const OpDef kMaxPoolGrad = {
    .name = "max_pool2d_grad",
    .family = "pooling",
    .summary = "dy where the largest pixel of each window was, else 0",
    .inputs = 2,
    .types = max_pool_grad_types,
    .cost =
        [](const OpInputs& in, std::span<const TensorType> out) {
          return moved(in, out, as_flops(out[0].elements(), 1));
        },
    .channels = {.rule = ChannelRule::picture, .inputs = 3, .outputs = 1, .shape = true},
};

// Keeps the winners' places (a byte for each result) and not x, which is sixteen times as large for
// windows of 2 x 2 in f32.
const OpDef kMaxPool = {
    .name = "max_pool2d",
    .family = "pooling",
    .summary = "the largest of each window, and which pixel of the window it was",
    .types = max_pool_types,
    .gradient =
        [](GradientContext& g) {
          if (!g.has_grad(0)) return;
          g.set(0, call_one(kMaxPoolGrad, {g.grad(), g.output(1)},
                            with_input_shape(g.attributes(), g.input_type(0).shape)));
        },
    .kept = [](std::uint32_t) { return Kept{.outputs = 2}; },
    .cost = pool_cost,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 3},
};

const OpDef kAvgPoolGrad = {
    .name = "avg_pool2d_grad",
    .family = "pooling",
    .summary = "dy of each window in equal parts to its pixels",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      return {{inputs.dtype(0), pool_of_gradient(inputs).in_shape()}};
    },
    .cost =
        [](const OpInputs& in, std::span<const TensorType> out) {
          const auto& size = in.attributes().integers("size");
          return moved(in, out, as_flops(in[0].elements(), size.at(0) * size.at(1)));
        },
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1, .shape = true},
};

const OpDef kAvgPool = {
    .name = "avg_pool2d",
    .family = "pooling",
    .summary = "the mean of each window, padding not counted",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      return {{inputs.dtype(0), pool_shape(inputs, inputs.shape(0)).out_shape()}};
    },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kAvgPoolGrad, {g.grad()},
                            with_input_shape(g.attributes(), g.input_type(0).shape)));
        },
    .cost = pool_cost,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1},
};

/// n, channels, height, width of picture `x` in the layout of the attributes.
std::array<std::int64_t, 4> extents(const OpInputs& inputs, const Shape& x) {
  if (x.rank() != 4) inputs.fail("a batch of images must have 4 dimensions");
  const PictureAxes axes = axes_of(inputs.attributes().flag("nhwc"));
  return {x[0], x[axes.channels], x[axes.height], x[axes.width]};
}

const OpDef kGlobalAvgPoolGrad = {
    .name = "global_avg_pool2d_grad",
    .family = "pooling",
    .summary = "dy [n,channels] in equal parts to all pixels",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      const Shape shape = inputs.attributes().shape("shape");
      const auto [n, channels, height, width] = extents(inputs, shape);
      if (inputs.shape(0) != Shape{n, channels}) {
        inputs.fail(
            fmt::format("the gradient of a pool of {} is [{},{}]", shape.to_string(), n, channels));
      }
      return {{inputs.dtype(0), shape}};
    },
    .cheap = true,
    .channels = {.rule = ChannelRule::picture, .inputs = 0, .outputs = 1, .shape = true},
};

const OpDef kGlobalAvgPool = {
    .name = "global_avg_pool2d",
    .family = "pooling",
    .summary = "the mean over height and width",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      const auto [n, channels, height, width] = extents(inputs, inputs.shape(0));
      if (height * width == 0 && n * channels != 0) inputs.fail("the image has no pixels");
      return {{inputs.dtype(0), Shape{n, channels}}};
    },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kGlobalAvgPoolGrad, {g.grad()},
                            with_input_shape(g.attributes(), g.input_type(0).shape)));
        },
    .cost = input_cost,
    .cheap = true,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 0},
};

std::int64_t enlargement_of(const OpInputs& inputs) {
  const std::int64_t factor = inputs.attributes().integer("factor");
  if (factor < 1) inputs.fail("the factor must be at least 1");
  return factor;
}

const OpDef kUpsampleGrad = {
    .name = "upsample_nearest2d_grad",
    .family = "pooling",
    .summary = "the sum over each square of pixels that were one",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      const std::int64_t factor = enlargement_of(inputs);
      const auto [n, channels, height, width] = extents(inputs, inputs.shape(0));
      if (height % factor != 0 || width % factor != 0) {
        inputs.fail("the factor does not divide the image");
      }
      return {{inputs.dtype(0), picture_shape(inputs.attributes().flag("nhwc"), n, channels,
                                              height / factor, width / factor)}};
    },
    .cost = input_cost,
    .cheap = true,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1},
};

const OpDef kUpsample = {
    .name = "upsample_nearest2d",
    .family = "pooling",
    .summary = "every pixel repeated down and across",
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      const std::int64_t factor = enlargement_of(inputs);
      const auto [n, channels, height, width] = extents(inputs, inputs.shape(0));
      return {{inputs.dtype(0), picture_shape(inputs.attributes().flag("nhwc"), n, channels,
                                              height * factor, width * factor)}};
    },
    .gradient =
        [](GradientContext& g) { g.set(0, call_one(kUpsampleGrad, {g.grad()}, g.attributes())); },
    .cheap = true,
    .channels = {.rule = ChannelRule::picture, .inputs = 1, .outputs = 1},
};

constexpr std::array kPoolingOps = {&kMaxPool,     &kMaxPoolGrad,   &kAvgPool,
                                    &kAvgPoolGrad, &kGlobalAvgPool, &kGlobalAvgPoolGrad,
                                    &kUpsample,    &kUpsampleGrad};

const RegisterOps kPoolingRegistered(kPoolingOps);

}  // namespace

Tensor max_pool2d(const Tensor& x, const PoolOptions& options) {
  return call_one(kMaxPool, {x}, pool_attributes(options));
}
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options) {
  return call_one(kAvgPool, {x}, pool_attributes(options));
}
Tensor global_avg_pool2d(const Tensor& x, Layout layout) {
  return call_one(kGlobalAvgPool, {x}, {{"nhwc", layout == Layout::channels_last}});
}
Tensor upsample_nearest2d(const Tensor& x, std::int64_t factor, Layout layout) {
  return call_one(kUpsample, {x}, {{"factor", factor}, {"nhwc", layout == Layout::channels_last}});
}

}  // namespace plimsoll::ops
