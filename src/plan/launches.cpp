#include "plan/launches.h"

#include <algorithm>

#include "plan/launch_seconds.h"
#include "plan/predicted_time.h"

namespace plimsoll::plan {
namespace {

using graph::Node;

class Costs {
 public:
  explicit Costs(const Plan& plan) : plan_(plan) {}

  LaunchCost of(const FusedLaunch& launch) const {
    LaunchCost cost = apart(launch.first, launch.count);
    double saved = 0;
    if (launch.pattern->chain) {
      const Bytes handed = bytes(plan_.tasks[launch.first].outputs.front());
      saved = static_cast<double>(handed) * (launch.between ? 1 : 2);
    }
    cost.bytes = cost.apart_bytes - saved;
    cost.seconds = fused_seconds(cost.apart_seconds, launch.count, saved, plan_.device);
    return cost;
  }

  LaunchCost of(const PointwiseTasks& tasks) const {
    LaunchCost cost = apart(tasks.first, tasks.count);
    cost.generated = true;
    for (const TaskPlace& at : tasks.arrays) {
      cost.bytes += static_cast<double>(bytes(plan_.tasks[at.task].inputs[at.index]));
    }
    for (const TaskPlace& at : tasks.written) {
      cost.bytes += static_cast<double>(bytes(plan_.tasks[at.task].outputs[at.index]));
    }
    double arithmetic = 0;
    for (const ops::PointwiseStep& step : tasks.group.steps) {
      arithmetic += pointwise_seconds(tasks.group.elements, step.dtype, plan_.device);
    }
    cost.seconds =
        std::min(generated_seconds(arithmetic, cost.bytes, plan_.device), cost.apart_seconds);
    return cost;
  }

 private:
  LaunchCost apart(std::size_t first, std::size_t count) const {
    LaunchCost cost{.first = first, .count = count};
    for (std::size_t t = first; t < first + count; ++t) {
      const Node& node = plan_.graph->node(plan_.tasks[t].node);
      const NodeTypes types = types_of(*plan_.graph, node);
      cost.apart_seconds += predicted_seconds(node, types, plan_.device);
      const ops::OpInputs inputs(*node.op, types.in, node.attributes);
      cost.apart_bytes += node.op->cost_of(inputs, types.out).bytes;
    }
    return cost;
  }
  Bytes bytes(const Place& place) const { return plan_.graph->value(place.value).type.bytes(); }

  const Plan& plan_;
};

}  // namespace

Launches launches_of(const Plan& plan) {
  Launches launches;
  if (plan.graph == nullptr || !fuses(plan.device)) return launches;
  std::vector<const ops::FusedPattern*> patterns;
  for (const ops::FusedPattern& pattern : ops::fused_patterns()) patterns.push_back(&pattern);
  launches.fused = fused_launches(plan, patterns);
  if (generates_kernels(plan.device)) {
    launches.generated = pointwise_groups(plan, fused_tasks(launches.fused, plan));
  }
  return launches;
}

std::vector<LaunchCost> launch_costs(const Plan& plan) {
  const Launches launches = launches_of(plan);
  const Costs costs(plan);
  std::vector<LaunchCost> all;
  for (const FusedLaunch& launch : launches.fused) all.push_back(costs.of(launch));
  for (const PointwiseTasks& tasks : launches.generated) all.push_back(costs.of(tasks));
  std::ranges::sort(all, {}, &LaunchCost::first);
  return all;
}

}  // namespace plimsoll::plan
