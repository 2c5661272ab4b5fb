#pragma once

#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

struct NodeTypes {
  std::vector<TensorType> in;
  std::vector<TensorType> out;
};
NodeTypes types_of(const graph::Graph& graph, const graph::Node& node);

/// What running the node once takes, by the device's description: the longer of its arithmetic and
/// its traffic, by the kernels that its dtype and shape lead to, and a launch.
double predicted_seconds(const graph::Node& node, const NodeTypes& types,
                         const DeviceDescription& device);

}  // namespace plimsoll::plan
