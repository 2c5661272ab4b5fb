#include "plan/predicted_time.h"

#include "plan/op_seconds.h"

namespace plimsoll::plan {

NodeTypes types_of(const graph::Graph& graph, const graph::Node& node) {
  NodeTypes types;
  for (const graph::ValueId v : node.inputs) types.in.push_back(graph.value(v).type);
  for (const graph::ValueId v : node.outputs) types.out.push_back(graph.value(v).type);
  return types;
}

double predicted_seconds(const graph::Node& node, const NodeTypes& types,
                         const DeviceDescription& device) {
  return op_seconds({*node.op, types.in, node.attributes}, types.out, device);
}

}  // namespace plimsoll::plan
