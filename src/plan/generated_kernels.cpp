#include <plimsoll/plan/generated_kernels.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/text.h>

#include "plan/launches.h"
#include "plan/predicted_time.h"

namespace plimsoll::plan {
namespace {

constexpr std::size_t kMostLines = 4;

std::string traffic(double bytes) { return format_bytes(static_cast<Bytes>(bytes)); }

}  // namespace

std::string GeneratedKernels::to_string() const {
  return fmt::format("{} for {}: {}{} instead of {}, {:.3g} ms predicted instead of {:.3g}",
                     count == 1 ? "a kernel" : counted(count, "kernel"), fmt::join(ops, ", "),
                     count == 1 ? "" : "each ", traffic(bytes), traffic(apart_bytes), seconds * 1e3,
                     apart_seconds * 1e3);
}

std::vector<GeneratedKernels> generated_kernels(const Plan& plan) {
  using Kind = std::tuple<std::vector<std::string_view>, std::int64_t, double, double>;
  std::map<Kind, GeneratedKernels> kinds;
  for (const LaunchCost& cost : launch_costs(plan)) {
    if (!cost.generated) continue;
    GeneratedKernels kernel{.count = 1,
                            .bytes = cost.bytes,
                            .apart_bytes = cost.apart_bytes,
                            .seconds = cost.seconds,
                            .apart_seconds = cost.apart_seconds};
    for (std::size_t t = cost.first; t < cost.first + cost.count; ++t) {
      kernel.ops.push_back(plan.graph->node(plan.tasks[t].node).op->name);
    }
    const Place& result = plan.tasks[cost.first].outputs.front();
    kernel.elements = plan.graph->value(result.value).type.elements();
    Kind kind(kernel.ops, kernel.elements, kernel.bytes, kernel.seconds);
    const auto [it, fresh] = kinds.try_emplace(std::move(kind), std::move(kernel));
    if (!fresh) ++it->second.count;
  }
  std::vector<GeneratedKernels> all;
  for (auto& [kind, kernels] : kinds) all.push_back(std::move(kernels));
  std::ranges::stable_sort(all, std::greater(), [](const GeneratedKernels& kernels) {
    return kernels.count * kernels.seconds;
  });
  return all;
}

std::vector<std::string> generated_lines(const Plan& plan) {
  const std::vector<GeneratedKernels> all = generated_kernels(plan);
  const std::size_t shown = all.size() <= kMostLines ? all.size() : kMostLines - 1;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < shown; ++i) lines.push_back("generated: " + all[i].to_string());
  if (shown == all.size()) return lines;
  std::int64_t kernels = 0;
  std::int64_t ops = 0;
  double seconds = 0;
  double apart = 0;
  for (std::size_t i = shown; i < all.size(); ++i) {
    kernels += all[i].count;
    ops += all[i].count * static_cast<std::int64_t>(all[i].ops.size());
    seconds += all[i].count * all[i].seconds;
    apart += all[i].count * all[i].apart_seconds;
  }
  lines.push_back(fmt::format("generated: {} more {} for {}, {:.3g} ms predicted instead of {:.3g}",
                              kernels, kernels == 1 ? "kernel" : "kernels", counted(ops, "op"),
                              seconds * 1e3, apart * 1e3));
  return lines;
}

std::vector<double> task_seconds(const Plan& plan, std::span<const double> node_seconds) {
  std::vector<double> seconds;
  seconds.reserve(plan.tasks.size());
  for (const PlannedTask& task : plan.tasks) {
    const auto node = static_cast<std::size_t>(task.node);
    seconds.push_back(node < node_seconds.size() ? node_seconds[node] : 0);
  }
  for (const LaunchCost& cost : launch_costs(plan)) {
    if (!(cost.apart_seconds > 0)) continue;
    const double share = cost.seconds / cost.apart_seconds;
    for (std::size_t t = cost.first; t < cost.first + cost.count; ++t) seconds[t] *= share;
  }
  return seconds;
}

std::vector<double> task_seconds(const Plan& plan) {
  std::vector<double> apart(plan.graph->nodes().size(), 0);
  for (const PlannedTask& task : plan.tasks) {
    double& seconds = apart[static_cast<std::size_t>(task.node)];
    if (seconds > 0) continue;
    const graph::Node& node = plan.graph->node(task.node);
    seconds = predicted_seconds(node, types_of(*plan.graph, node), plan.device);
  }
  return task_seconds(plan, apart);
}

}  // namespace plimsoll::plan
