#include "plan/slow_paths.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/attention_route.h"

namespace plimsoll::plan {
namespace {

using graph::Node;
using graph::ValueId;

/// Empty where the op has a fast kernel, or little to do.
std::string slow_attention(const ops::OpInputs& in) {
  const std::string_view name = in.def().name;
  const bool together = name.starts_with("self_attention");
  const bool grad = name.ends_with("_grad");
  const ops::AttentionShape s = together ? ops::self_attention_shape(in) : ops::attention_shape(in);
  const bool more = grad && in.count() > in.def().inputs;
  if (s.units() * s.queries * s.keys < ops::kManyScores ||
      ops::attention_route(s, in.dtype(0), grad, more) != ops::AttentionRoute::plain) {
    return "";
  }
  return fmt::format(
      "{} in {}, heads of {}, {} queries, {} keys{}: plain kernels, many times "
      "slower than others; {}",
      name, dtype_name(in.dtype(0)), s.size, s.queries, s.keys, s.causal ? ", causal" : "",
      ops::attention_remedy(s, more));
}

}  // namespace

std::vector<std::string> slow_paths(const Plan& plan) {
  std::vector<std::string> lines;
  if (plan.device.kind == DeviceKind::cpu || plan.graph == nullptr) return lines;
  std::vector<int> counts;
  for (const PlannedTask& task : plan.tasks) {
    const Node& node = plan.graph->node(task.node);
    if (node.op->family != "attention") continue;
    std::vector<TensorType> types;
    for (const ValueId v : node.inputs) types.push_back(plan.graph->value(v).type);
    const std::string line = slow_attention({*node.op, types, node.attributes});
    if (line.empty()) continue;
    const auto known = std::find(lines.begin(), lines.end(), line);
    if (known == lines.end()) {
      lines.push_back(line);
      counts.push_back(1);
    } else {
      ++counts[static_cast<std::size_t>(known - lines.begin())];
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = fmt::format("slow: {} x {}", counts[i], lines[i]);
  }
  return lines;
}

}  // namespace plimsoll::plan
