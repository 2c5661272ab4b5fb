#include "plan/op_seconds.h"

#include <algorithm>

#include <plimsoll/ops/slow_path.h>
#include <plimsoll/ops/tf32.h>

#include "plan/product_seconds.h"

namespace plimsoll::plan {
namespace {

/// The dtype that the arithmetic runs in: the widest floating input's.
DType arithmetic_dtype(std::span<const TensorType> types) {
  DType dtype = DType::bf16;
  for (const TensorType& type : types) {
    if (is_floating(type.dtype)) dtype = std::min(dtype, type.dtype);
  }
  return dtype;
}

double roofline(const ops::OpInputs& in, std::span<const TensorType> out,
                const DeviceDescription& device) {
  const ops::Cost cost = in.def().cost_of(in, out);
  double rate = device.flops(arithmetic_dtype(in.types()), ops::uses_tf32(in.attributes()));
  if (device.kind != DeviceKind::cpu) {
    if (const auto slow = ops::slow_path(in, out)) {
      rate = std::min(rate, slow->flops_per_byte * device.bytes_per_second);
    }
  }
  return std::max(cost.flops / rate, cost.bytes / device.bytes_per_second) + device.launch_seconds;
}

}  // namespace

double op_seconds(const ops::OpInputs& in, std::span<const TensorType> out,
                  const DeviceDescription& device) {
  if (device.kind == DeviceKind::cpu) return roofline(in, out, device);
  const std::string_view name = in.def().name;
  const bool tf32 = ops::uses_tf32(in.attributes());
  if (name == "matmul") return products_seconds(ops::products_of_matmul(in, out), device);
  if (name == "linear") return products_seconds(ops::products_of_linear(in), device);
  if (name == "linear_cross_entropy") {
    return head_seconds({.tokens = in.shape(0)[0],
                         .features = in.shape(0)[1],
                         .classes = in.shape(1)[0],
                         .dtype = in.dtype(0),
                         .tf32 = tf32,
                         .with_dx = in.attributes().flag("with_dx"),
                         .with_dweight = in.attributes().flag("with_dweight")},
                        device);
  }
  if (name == "attention" || name == "attention_grad") {
    return attention_seconds(ops::attention_shape(in), in.dtype(0), tf32, name == "attention_grad",
                             device);
  }
  if (name == "self_attention" || name == "self_attention_grad") {
    return attention_seconds(ops::self_attention_shape(in), in.dtype(0), tf32,
                             name == "self_attention_grad", device);
  }
  return roofline(in, out, device);
}

double tf32_saves(const ops::OpInputs& in, std::span<const TensorType> out,
                  const DeviceDescription& device) {
  const bool products =
      in.def().precision == ops::Precision::compute || in.def().family == "attention";
  if (device.kind == DeviceKind::cpu || !products || in.count() == 0 || in.dtype(0) != DType::f32 ||
      in.attributes().has("tf32")) {
    return 0;
  }
  ops::Attributes attributes = in.attributes();
  attributes.set("tf32", true);
  const ops::OpInputs faster(in.def(), in.types(), attributes);
  return std::max(0.0, op_seconds(in, out, device) - op_seconds(faster, out, device));
}

}  // namespace plimsoll::plan
