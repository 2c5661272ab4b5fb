#include "plan/predicted_time.h"

#include <algorithm>

#include <plimsoll/ops/slow_path.h>

namespace plimsoll::plan {
namespace {

/// The dtype that the arithmetic runs in: the widest floating input's.
DType arithmetic_dtype(const std::vector<TensorType>& types) {
  DType dtype = DType::bf16;
  for (const TensorType& type : types) {
    if (is_floating(type.dtype)) dtype = std::min(dtype, type.dtype);
  }
  return dtype;
}

}  // namespace

NodeTypes types_of(const graph::Graph& graph, const graph::Node& node) {
  NodeTypes types;
  for (const graph::ValueId v : node.inputs) types.in.push_back(graph.value(v).type);
  for (const graph::ValueId v : node.outputs) types.out.push_back(graph.value(v).type);
  return types;
}

double predicted_seconds(const graph::Node& node, const NodeTypes& types,
                         const DeviceDescription& device) {
  const ops::OpInputs inputs(*node.op, types.in, node.attributes);
  const ops::Cost cost = node.op->cost_of(inputs, types.out);
  double rate = device.flops(arithmetic_dtype(types.in));
  if (device.kind != DeviceKind::cpu) {
    if (const auto slow = ops::slow_path(inputs, types.out)) {
      rate = std::min(rate, slow->flops_per_byte * device.bytes_per_second);
    }
  }
  return std::max(cost.flops / rate, cost.bytes / device.bytes_per_second) + device.launch_seconds;
}

}  // namespace plimsoll::plan
