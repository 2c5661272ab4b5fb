#include <plimsoll/plan/slow_tasks.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <plimsoll/ops/slow_path.h>

#include "plan/predicted_time.h"

namespace plimsoll::plan {
namespace {

constexpr double kWorthAWord = 0.02;

}  // namespace

std::string SlowTasks::to_string() const {
  return fmt::format("{}: {} {}, {:.3g} ms predicted: {}; {}", op, count,
                     count == 1 ? "task" : "tasks", seconds * 1e3, reason, remedy);
}

std::vector<SlowTasks> slow_tasks(const Plan& plan) {
  std::vector<SlowTasks> all;
  if (!plan.device.capabilities.gpu_kernels || plan.graph == nullptr) return all;
  std::map<std::pair<std::string, std::string>, SlowTasks> found;
  for (const PlannedTask& task : plan.tasks) {
    const graph::Node& node = plan.graph->node(task.node);
    const NodeTypes types = types_of(*plan.graph, node);
    const auto slow = ops::slow_path({*node.op, types.in, node.attributes}, types.out);
    if (!slow) continue;
    SlowTasks& tasks = found[{std::string(node.op->name), slow->reason}];
    tasks.op = node.op->name;
    tasks.reason = slow->reason;
    tasks.remedy = slow->remedy;
    tasks.seconds += predicted_seconds(node, types, plan.device);
    ++tasks.count;
  }
  for (auto& [key, tasks] : found) {
    if (tasks.seconds >= kWorthAWord * plan.seconds) all.push_back(std::move(tasks));
  }
  std::ranges::sort(all,
                    [](const SlowTasks& a, const SlowTasks& b) { return a.seconds > b.seconds; });
  return all;
}

}  // namespace plimsoll::plan
