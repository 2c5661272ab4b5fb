// Tensors from nothing: fills and random draws.
#include <plimsoll/ops/random.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::ops {
namespace {

std::vector<TensorType> given_type(const OpInputs& inputs) {
  const Attributes& a = inputs.attributes();
  const DType dtype = a.dtype("dtype");
  if (!inputs.def().dtypes.has(dtype)) {
    inputs.fail(fmt::format("is not defined for {}, but for {}", dtype_name(dtype),
                            inputs.def().dtypes.to_string()));
  }
  return {{dtype, a.shape("shape")}};
}

constexpr OpDef kFull = {
    .name = "full",
    .family = "random",
    .summary = "one value everywhere",
    .inputs = 0,
    .dtypes = kAnyDType,
    .types = given_type,
    .cheap = true,
};

constexpr OpDef kArange = {
    .name = "arange",
    .family = "random",
    .summary = "0, 1, 2 ...",
    .inputs = 0,
    .dtypes = kNumbers,
    .types = given_type,
    .cheap = true,
};

/// About what ten rounds of Philox and the mathematics after it take.
template <int FlopsEach>
Cost draw_cost(const OpInputs&, std::span<const TensorType> outputs) {
  return {.flops = FlopsEach * static_cast<double>(outputs[0].elements()),
          .bytes = static_cast<double>(outputs[0].bytes())};
}

constexpr OpDef kUniform = {
    .name = "random_uniform",
    .family = "random",
    .summary = "uniform random numbers from low to high",
    .inputs = 0,
    .types =
        [](const OpInputs& inputs) {
          const double low = inputs.attributes().number("low");
          const double high = inputs.attributes().number("high");
          if (!(low <= high)) inputs.fail(fmt::format("low {} is above high {}", low, high));
          return given_type(inputs);
        },
    .cost = draw_cost<30>,
    .cheap = true,
    .random = true,
};

constexpr OpDef kNormal = {
    .name = "random_normal",
    .family = "random",
    .summary = "normal random numbers",
    .inputs = 0,
    .types =
        [](const OpInputs& inputs) {
          const double deviation = inputs.attributes().number("deviation");
          if (!(deviation >= 0)) {
            inputs.fail(fmt::format("the deviation must be at least 0, not {}", deviation));
          }
          return given_type(inputs);
        },
    .cost = draw_cost<50>,
    .cheap = true,
    .random = true,
};

constexpr std::array kRandomOps = {&kFull, &kArange, &kUniform, &kNormal};

Attributes attributes_of(const TensorType& type) {
  return {{"shape", to_integers(type.shape)}, {"dtype", type.dtype}};
}
/// What a double does not have is an attribute of its own: plans and traces of others stay as they
/// are.
Attributes full_attributes(const TensorType& type, const Scalar& value) {
  Attributes attributes = attributes_of(type);
  attributes.set("value", value.number());
  if (type.dtype == DType::i64 && value.is_large()) attributes.set("whole", *value.whole());
  return attributes;
}
Attributes uniform_attributes(const TensorType& type, double low, double high) {
  Attributes attributes = attributes_of(type);
  attributes.set("low", low);
  attributes.set("high", high);
  return attributes;
}
Attributes normal_attributes(const TensorType& type, double mean, double deviation) {
  Attributes attributes = attributes_of(type);
  attributes.set("mean", mean);
  attributes.set("deviation", deviation);
  return attributes;
}

const RegisterOps kRandomRegistered(kRandomOps);

}  // namespace

Tensor full_like_type(const Tensor& like, const TensorType& type, const Scalar& value) {
  return call_like(like, kFull, full_attributes(type, value)).front();
}
Tensor full(const Shape& shape, const Scalar& value, DType dtype, const Device& device) {
  return call_on(device, kFull, full_attributes({dtype, shape}, value)).front();
}
Tensor zeros_like(const Tensor& x) { return full_like_type(x, x.type(), 0.0); }
Tensor ones_like(const Tensor& x) { return full_like_type(x, x.type(), 1.0); }
Tensor arange(std::int64_t count, DType dtype, const Tensor& like) {
  return call_like(like, kArange, attributes_of({dtype, Shape{count}})).front();
}

Tensor random_uniform(const TensorType& type, double low, double high, const Tensor& like) {
  return call_like(like, kUniform, uniform_attributes(type, low, high)).front();
}
Tensor random_uniform(const TensorType& type, double low, double high, const Device& device) {
  return call_on(device, kUniform, uniform_attributes(type, low, high)).front();
}
Tensor random_normal(const TensorType& type, double mean, double deviation, const Tensor& like) {
  return call_like(like, kNormal, normal_attributes(type, mean, deviation)).front();
}
Tensor random_normal(const TensorType& type, double mean, double deviation, const Device& device) {
  return call_on(device, kNormal, normal_attributes(type, mean, deviation)).front();
}

}  // namespace plimsoll::ops
