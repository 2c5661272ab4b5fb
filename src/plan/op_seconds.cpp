#include "plan/op_seconds.h"

#include <algorithm>

#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/scan.h>
#include <plimsoll/ops/slow_path.h>
#include <plimsoll/ops/tf32.h>

#include "plan/convolution_seconds.h"
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
  if (device.capabilities.gpu_kernels) {
    if (const auto slow = ops::slow_path(in, out)) {
      rate = std::min(rate, slow->flops_per_byte * device.bytes_per_second);
    }
  }
  return std::max(cost.flops / rate, cost.bytes / device.bytes_per_second) + device.launch_seconds;
}

double scan_seconds(const ops::ScanWork& work, const DeviceDescription& device) {
  double step = 0;
  for (const ops::ScanBody::Node& node : work.body->nodes) {
    if (node.op->view) continue;
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    for (const int value : node.inputs) in.push_back(work.body->type(value));
    for (const int value : node.outputs) out.push_back(work.body->type(value));
    step += op_seconds({*node.op, in, node.attributes}, out, device);
  }
  return static_cast<double>(work.steps) * step;
}

}  // namespace

double op_seconds(const ops::OpInputs& in, std::span<const TensorType> out,
                  const DeviceDescription& device) {
  if (!device.capabilities.gpu_kernels) return roofline(in, out, device);
  if (in.def().gpu_work == nullptr) return roofline(in, out, device);
  const ops::GpuWork work = in.def().gpu_work(in, out);
  if (const auto* products = std::get_if<ops::Products>(&work.what)) {
    return products_seconds(*products, device);
  }
  if (const auto* attention = std::get_if<ops::AttentionWork>(&work.what)) {
    return attention_seconds(attention->shape, in.dtype(0), ops::uses_tf32(in.attributes()),
                             attention->gradient, device);
  }
  if (const auto* convolution = std::get_if<ops::ConvWork>(&work.what)) {
    const bool fast = ops::conv_route(convolution->shape, convolution->pass, convolution->dtype,
                                      convolution->tf32)
                          .kernel != ops::ConvKernel::plain;
    return fast ? convolution_seconds(*convolution, device) : roofline(in, out, device);
  }
  if (const auto* scan = std::get_if<ops::ScanWork>(&work.what)) {
    return scan_seconds(*scan, device);
  }
  return head_seconds(std::get<ops::HeadWork>(work.what), device);
}

double tf32_saves(const ops::OpInputs& in, std::span<const TensorType> out,
                  const DeviceDescription& device) {
  const bool products =
      in.def().precision == ops::Precision::compute || in.def().gpu_work != nullptr;
  if (!device.capabilities.gpu_kernels || !products || in.count() == 0 ||
      in.dtype(0) != DType::f32 || in.attributes().has("tf32")) {
    return 0;
  }
  ops::Attributes attributes = in.attributes();
  attributes.set("tf32", true);
  const ops::OpInputs faster(in.def(), in.types(), attributes);
  return std::max(0.0, op_seconds(in, out, device) - op_seconds(faster, out, device));
}

}  // namespace plimsoll::plan
