#include "plan/fused_launches.h"

#include <algorithm>

namespace plimsoll::plan {
namespace {

using graph::Node;
using graph::Value;
using graph::ValueId;
using ops::FusedCall;
using ops::FusedPattern;

/// Memory that a task reads or writes.
struct Extent {
  bool persistent = false;
  ValueId root = graph::kNone;
  Bytes begin = 0;
  Bytes end = 0;
  DType dtype = DType::u8;
};

bool overlap(const Extent& a, const Extent& b) {
  if (a.persistent != b.persistent) return false;
  if (a.persistent) return a.root == b.root;
  return a.begin < b.end && b.begin < a.end;
}
/// One lies on the other, element by element.
bool coincide(const Extent& a, const Extent& b) {
  return !a.persistent && !b.persistent && a.begin == b.begin && a.end == b.end &&
         a.dtype == b.dtype;
}

/// A task with all that decides whether it can be fused.
struct Candidate {
  const Node* node = nullptr;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  std::vector<Extent> inputs;
  std::vector<Extent> outputs;
  std::vector<Extent> workspace;  ///< one, if it has a place of its own

  FusedCall call(int chained) const {
    return {.op = *node->op,
            .attributes = node->attributes,
            .inputs = input_types,
            .outputs = output_types,
            .chained = chained};
  }
};

Extent extent_of(const Plan& plan, const Place& place) {
  const Value& value = plan.graph->value(place.value);
  return {.persistent = place.persistent,
          .root = value.memory,
          .begin = place.offset,
          .end = place.offset + value.type.bytes(),
          .dtype = value.type.dtype};
}

Candidate candidate_of(const Plan& plan, std::size_t index) {
  const PlannedTask& task = plan.tasks[index];
  Candidate found{.node = &plan.graph->node(task.node)};
  for (const Place& place : task.inputs) {
    found.input_types.push_back(plan.graph->value(place.value).type);
    found.inputs.push_back(extent_of(plan, place));
  }
  for (const Place& place : task.outputs) {
    found.output_types.push_back(plan.graph->value(place.value).type);
    found.outputs.push_back(extent_of(plan, place));
  }
  if (task.workspace != 0) {
    found.workspace.push_back(
        {.begin = task.workspace_offset, .end = task.workspace_offset + task.workspace});
  }
  return found;
}

bool any_overlap(std::span<const Extent> some, std::span<const Extent> others) {
  return std::ranges::any_of(some, [&](const Extent& a) {
    return std::ranges::any_of(others, [&](const Extent& b) { return overlap(a, b); });
  });
}

/// Neither reads or overwrites what the other writes.
bool apart(const Candidate& first, const Candidate& second) {
  if (!first.workspace.empty() || !second.workspace.empty()) return false;
  return !any_overlap(second.outputs, first.inputs) &&
         !any_overlap(second.outputs, first.outputs) && !any_overlap(second.inputs, first.outputs);
}

/// The one input of `second` that is output 0 of `first`; -1 if there is none such, or if it reads
/// anything else that `first` writes.
int chained_input(const Candidate& first, const Candidate& second) {
  int found = -1;
  for (std::size_t i = 0; i < second.inputs.size(); ++i) {
    const Extent& input = second.inputs[i];
    if (!any_overlap({&input, 1}, first.outputs)) continue;
    if (found >= 0 || input.root != first.outputs[0].root || !coincide(input, first.outputs[0])) {
      return -1;
    }
    found = static_cast<int>(i);
  }
  return found;
}

/// Whether what `second` writes leaves alone what a launch of both may still read or has written:
/// rows that are read before they are written may be written over.
bool chain_is_safe(const Candidate& first, const Candidate& second) {
  if (!second.workspace.empty()) return false;
  for (const Extent& output : second.outputs) {
    for (const Extent& input : first.inputs) {
      if (overlap(output, input) && !coincide(output, input)) return false;
    }
    if (overlap(output, first.outputs[0]) && !coincide(output, first.outputs[0])) return false;
    if (any_overlap({&output, 1}, std::span(first.outputs).subspan(1)) ||
        any_overlap({&output, 1}, first.workspace)) {
      return false;
    }
  }
  return true;
}

/// By root: one more than the last task that reads it; more than there are if the caller does.
std::vector<std::size_t> last_reads(const Plan& plan) {
  std::vector<std::size_t> last(plan.graph->values().size(), 0);
  const auto root = [&](const Place& place) {
    return static_cast<std::size_t>(plan.graph->value(place.value).memory);
  };
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    for (const Place& place : plan.tasks[t].inputs) last[root(place)] = t + 1;
  }
  for (const Place& place : plan.outputs) last[root(place)] = plan.tasks.size() + 1;
  return last;
}

/// Tasks from `first` on that `pattern` takes; less than two: none.
std::size_t length_of(const Plan& plan, const FusedPattern& pattern, std::size_t first) {
  std::vector<Candidate> group = {candidate_of(plan, first)};
  std::vector<FusedCall> calls = {group.front().call(-1)};
  if (!pattern.joins({}, calls.front())) return 0;
  while (first + group.size() < plan.tasks.size()) {
    if (pattern.chain && group.size() == 2) break;
    Candidate next = candidate_of(plan, first + group.size());
    const int chained = pattern.chain ? chained_input(group.front(), next) : -1;
    const bool fits = pattern.chain ? chained >= 0 && chain_is_safe(group.front(), next)
                                    : std::ranges::all_of(group, [&](const Candidate& before) {
                                        return apart(before, next);
                                      });
    if (!fits || !pattern.joins(calls, next.call(chained))) break;
    group.push_back(std::move(next));
    // Types have moved with their tasks.
    calls.clear();
    for (const Candidate& c : group) calls.push_back(c.call(-1));
  }
  return group.size();
}

bool holds_a_copy(const Plan& plan, const FusedLaunch& launch) {
  const auto within = [&](int at) {
    const auto t = static_cast<std::size_t>(at);
    return t > launch.first && t < launch.first + launch.count;
  };
  return std::ranges::any_of(plan.copies, [&](const PlannedCopy& copy) {
    return within(copy.begins) || within(copy.needed);
  });
}

}  // namespace

std::vector<FusedLaunch> fused_launches(const Plan& plan,
                                        std::span<const FusedPattern* const> patterns) {
  std::vector<FusedLaunch> launches;
  const std::vector<std::size_t> last = last_reads(plan);
  for (std::size_t t = 0; t < plan.tasks.size();) {
    std::size_t taken = 1;
    for (const FusedPattern* pattern : patterns) {
      const std::size_t count = length_of(plan, *pattern, t);
      if (count < 2) continue;
      const Place& handed = plan.tasks[t].outputs.front();
      const auto root = static_cast<std::size_t>(plan.graph->value(handed.value).memory);
      launches.push_back({.first = t,
                          .count = count,
                          .pattern = pattern,
                          .between = handed.persistent || last[root] > t + 2});
      taken = count;
      break;
    }
    t += taken;
  }
  std::erase_if(launches, [&](const FusedLaunch& launch) { return holds_a_copy(plan, launch); });
  return launches;
}

std::vector<bool> fused_tasks(std::span<const FusedLaunch> launches, const Plan& plan) {
  std::vector<bool> taken(plan.tasks.size(), false);
  for (const FusedLaunch& launch : launches) {
    std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(launch.first), launch.count, true);
  }
  return taken;
}

}  // namespace plimsoll::plan
