#include "plan/pointwise_groups.h"

#include <algorithm>
#include <optional>

namespace plimsoll::plan {
namespace {

using graph::Node;
using graph::Value;
using graph::ValueId;
using ops::PointwiseArray;
using ops::PointwiseGroup;
using ops::PointwiseOperand;
using ops::Spread;

/// Memory that a task reads or writes.
struct Region {
  bool persistent = false;
  ValueId root = graph::kNone;
  Bytes begin = 0;
  Bytes end = 0;
};

bool regions_meet(const Region& a, const Region& b) {
  if (a.persistent != b.persistent) return false;
  if (a.persistent) return a.root == b.root;
  return a.begin < b.end && b.begin < a.end;
}
bool same_place(const Region& a, const Region& b) {
  if (a.persistent != b.persistent) return false;
  return a.persistent ? a.root == b.root : a.begin == b.begin && a.end == b.end;
}

/// Who reads and writes a root's memory, by rising task.
struct Access {
  std::size_t task = 0;
  bool write = false;
  Bytes offset = 0;
};

class Grouping {
 public:
  Grouping(const Plan& plan, const std::vector<bool>& taken)
      : plan_(plan),
        taken_(taken),
        accesses_(plan.graph->values().size()),
        kept_(plan.graph->values().size(), false),
        cut_(plan.tasks.size() + 1, false) {
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      // A task reads before it writes.
      for (const Place& place : plan.tasks[t].inputs) note(place, t, false);
      for (const Place& place : plan.tasks[t].outputs) note(place, t, true);
    }
    for (const Place& place : plan.outputs) kept_[root(place)] = true;
    for (const PlannedCopy& copy : plan.copies) {
      kept_[root(copy.place)] = true;
      cut_[static_cast<std::size_t>(copy.begins)] = true;
      cut_[static_cast<std::size_t>(copy.needed)] = true;
    }
  }

  std::vector<PointwiseTasks> run() {
    std::vector<PointwiseTasks> groups;
    for (std::size_t t = 0; t < plan_.tasks.size();) {
      std::optional<PointwiseTasks> found = longest_from(t);
      if (!found) {
        ++t;
        continue;
      }
      t += found->count;
      groups.push_back(std::move(*found));
    }
    return groups;
  }

 private:
  /// A task of the group that is being built.
  struct Member {
    Region output;
    std::size_t bytes = 0;  ///< of an element of its output
  };
  /// An array of it, with what it lies on.
  struct Read {
    Region region;
    PointwiseArray array;
    std::size_t bytes = 0;
  };

  std::size_t root(const Place& place) const {
    return static_cast<std::size_t>(plan_.graph->value(place.value).memory);
  }
  void note(const Place& place, std::size_t task, bool write) {
    accesses_[root(place)].push_back({task, write, place.offset});
  }
  const TensorType& type(const Place& place) const { return plan_.graph->value(place.value).type; }

  Region region(const Place& place) const {
    return {.persistent = place.persistent,
            .root = plan_.graph->value(place.value).memory,
            .begin = place.offset,
            .end = place.offset + type(place).bytes()};
  }

  bool is_pointwise(std::size_t task) const {
    if (task < taken_.size() && taken_[task]) return false;
    const PlannedTask& planned = plan_.tasks[task];
    const Node& node = plan_.graph->node(planned.node);
    if (planned.workspace != 0) return false;
    std::vector<TensorType> inputs;
    std::vector<TensorType> outputs;
    for (const Place& place : planned.inputs) inputs.push_back(type(place));
    for (const Place& place : planned.outputs) outputs.push_back(type(place));
    return ops::is_pointwise(*node.op, inputs, outputs) && !planned.outputs[0].persistent;
  }

  /// Whether what task `by` writes to `place` is read by a task from `end` on, before it is written
  /// anew: a value that is computed again may be at another place, or at the same.
  bool is_read_from(std::size_t end, const Place& place) const {
    if (kept_[root(place)]) return true;
    const std::vector<Access>& all = accesses_[root(place)];
    auto it = std::ranges::lower_bound(all, end, {}, &Access::task);
    for (; it != all.end(); ++it) {
      if (!it->write && it->offset == place.offset) return true;
      if (it->write && it->offset == place.offset) return false;
    }
    return false;
  }

  /// Adds task first + count to the group; false if it cannot be its next step.
  bool join(PointwiseTasks& tasks) {
    const std::size_t t = tasks.first + tasks.count;
    const PlannedTask& planned = plan_.tasks[t];
    const Node& node = plan_.graph->node(planned.node);
    const TensorType& result = type(planned.outputs[0]);
    PointwiseGroup& group = tasks.group;
    if (tasks.count == 0) group.elements = result.elements();
    if (result.elements() != group.elements) return false;

    ops::PointwiseStep step{.op = node.op, .attributes = &node.attributes, .dtype = result.dtype};
    for (std::size_t i = 0; i < planned.inputs.size(); ++i) {
      const auto operand = operand_of(tasks, {t, i}, result.shape);
      if (!operand) return false;
      step.inputs.push_back(*operand);
    }
    if (group.arrays.size() > ops::kMostPointwiseArrays) return false;
    group.steps.push_back(std::move(step));
    members_.push_back({region(planned.outputs[0]), dtype_size(result.dtype)});
    ++tasks.count;
    return true;
  }

  std::optional<PointwiseOperand> operand_of(PointwiseTasks& tasks, const TaskPlace& at,
                                             const Shape& shape) {
    const Place& place = plan_.tasks[at.task].inputs[at.index];
    const Region memory = region(place);
    const PointwiseArray array = *ops::pointwise_array(type(place), shape);
    // The last to write there, if any of the group does.
    for (std::size_t m = members_.size(); m-- > 0;) {
      if (!regions_meet(members_[m].output, memory)) continue;
      const bool handed_on =
          members_[m].output.root == memory.root && same_place(members_[m].output, memory) &&
          array.spread == Spread::whole && tasks.group.steps[m].dtype == array.dtype;
      if (!handed_on) return std::nullopt;
      return PointwiseOperand{.step = true, .index = static_cast<int>(m)};
    }
    for (std::size_t r = 0; r < reads_.size(); ++r) {
      if (reads_[r].array == array && same_place(reads_[r].region, memory)) {
        return PointwiseOperand{.index = static_cast<int>(r)};
      }
    }
    reads_.push_back({memory, array, dtype_size(array.dtype)});
    tasks.group.arrays.push_back(array);
    tasks.arrays.push_back(at);
    return PointwiseOperand{.index = static_cast<int>(reads_.size()) - 1};
  }

  /// Decides what the group writes; false if it cannot be one launch as it is.
  bool settle(PointwiseTasks& tasks) const {
    tasks.group.written.clear();
    tasks.written.clear();
    std::vector<const Member*> written;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::size_t t = tasks.first + m;
      if (!is_read_from(tasks.first + tasks.count, plan_.tasks[t].outputs[0])) continue;
      // Written over later in the group: then what is read afterwards is not this.
      const bool replaced = std::any_of(
          members_.begin() + static_cast<std::ptrdiff_t>(m) + 1, members_.end(),
          [&](const Member& later) { return regions_meet(later.output, members_[m].output); });
      if (replaced) {
        // The same value again, at the same place, is what others read.
        if (!has_same_place_later(m)) return false;
        continue;
      }
      for (const Read& read : reads_) {
        if (!regions_meet(members_[m].output, read.region)) continue;
        const bool safe = same_place(members_[m].output, read.region) &&
                          read.array.spread == Spread::whole && read.bytes == members_[m].bytes;
        if (!safe) return false;
      }
      tasks.group.written.push_back(static_cast<int>(m));
      tasks.written.push_back({t, 0});
    }
    return tasks.group.written.size() <= ops::kMostPointwiseWritten;
  }
  bool has_same_place_later(std::size_t m) const {
    return std::any_of(members_.begin() + static_cast<std::ptrdiff_t>(m) + 1, members_.end(),
                       [&](const Member& later) {
                         return later.output.root == members_[m].output.root &&
                                same_place(later.output, members_[m].output);
                       });
  }

  /// What a longer group writes may be less, so that tasks which could not end a group may stand
  /// inside one.
  std::optional<PointwiseTasks> longest_from(std::size_t first) {
    std::optional<PointwiseTasks> longest;
    PointwiseTasks tasks{.first = first};
    members_.clear();
    reads_.clear();
    while (first + tasks.count < plan_.tasks.size() && tasks.count < ops::kMostPointwiseSteps) {
      const std::size_t next = first + tasks.count;
      if (tasks.count > 0 && cut_[next]) break;
      if (!is_pointwise(next) || !join(tasks)) break;
      if (tasks.count >= 2 && settle(tasks)) longest = tasks;
    }
    return longest;
  }

  const Plan& plan_;
  const std::vector<bool>& taken_;
  std::vector<std::vector<Access>> accesses_;  ///< by root
  std::vector<bool> kept_;                     ///< by root: read by the caller or by copies
  std::vector<bool> cut_;                      ///< by task: a copy begins or is needed before it
  std::vector<Member> members_;
  std::vector<Read> reads_;
};

}  // namespace

std::vector<PointwiseTasks> pointwise_groups(const Plan& plan, const std::vector<bool>& taken) {
  return Grouping(plan, taken).run();
}

}  // namespace plimsoll::plan
