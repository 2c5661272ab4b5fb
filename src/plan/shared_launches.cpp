#include "plan/shared_launches.h"

#include <algorithm>

#include <plimsoll/ops/fused.h>
#include <plimsoll/ops/pointwise.h>

#include "plan/launch_seconds.h"
#include "plan/predicted_time.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using ops::FusedCall;
using ops::FusedPattern;

class Joinings {
 public:
  explicit Joinings(StepModel& model) : model_(model), graph_(*model.graph) {
    for (const Work& work : model.work) types_.push_back(types_of(graph_, node_of(work)));
  }

  void find() {
    for (std::size_t w = 0; w < model_.work.size(); ++w) {
      Work& work = model_.work[w];
      const Node& node = node_of(work);
      work.joining.seconds = predicted_seconds(node, types_[w], model_.device);
      if (work.workspace == 0 && work.outputs.size() == 1 && generates_kernels(model_.device) &&
          ops::is_pointwise(*node.op, types_[w].in, types_[w].out)) {
        const TensorType& result = types_[w].out.front();
        work.joining.elements = result.elements();
        work.joining.arithmetic = pointwise_seconds(result.elements(), result.dtype, model_.device);
      }
      for (const FusedPattern& pattern : ops::fused_patterns()) {
        if (pattern.chain) {
          find_chains(w, pattern);
        } else {
          find_group(w, pattern);
        }
      }
    }
  }

 private:
  const Node& node_of(const Work& work) const { return graph_.node(work.node); }
  FusedCall call(std::size_t w, int chained) const {
    const Node& node = node_of(model_.work[w]);
    return {*node.op, node.attributes, types_[w].in, types_[w].out, chained};
  }

  void find_group(std::size_t w, const FusedPattern& pattern) {
    Work& work = model_.work[w];
    if (work.workspace != 0 || !pattern.joins({}, call(w, -1))) return;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const FusedCall first = call(groups_[g], -1);
      if (pattern.joins({}, first) && pattern.joins({&first, 1}, call(w, -1))) {
        work.joining.group = static_cast<int>(g);
        return;
      }
    }
    work.joining.group = static_cast<int>(groups_.size());
    groups_.push_back(w);
  }

  void find_chains(std::size_t w, const FusedPattern& pattern) {
    Work& work = model_.work[w];
    if (work.workspace != 0) return;
    for (const int root : work.inputs) {
      const int producer = model_.roots[static_cast<std::size_t>(root)].producer;
      if (producer < 0 || producer >= static_cast<int>(w)) continue;
      const auto before = static_cast<std::size_t>(producer);
      const FusedCall first = call(before, -1);
      const int chained = chained_input(model_.work[before], work);
      if (chained < 0 || !pattern.joins({}, first)) continue;
      if (pattern.joins({&first, 1}, call(w, chained))) work.joining.after.push_back(producer);
    }
  }

  /// The one input of `second` that is output 0 of `first`; -1 if there is none such, or another of
  /// its inputs is an output of `first`.
  int chained_input(const Work& first, const Work& second) const {
    const std::vector<ValueId>& made = node_of(first).outputs;
    const std::vector<ValueId>& read = node_of(second).inputs;
    const auto memory = [&](ValueId v) { return graph_.value(v).memory; };
    int found = -1;
    for (std::size_t i = 0; i < read.size(); ++i) {
      for (std::size_t o = 0; o < made.size(); ++o) {
        if (memory(read[i]) != memory(made[o])) continue;
        if (o != 0 || found >= 0) return -1;
        found = static_cast<int>(i);
      }
    }
    return found;
  }

  StepModel& model_;
  const Graph& graph_;
  std::vector<NodeTypes> types_;     ///< by work
  std::vector<std::size_t> groups_;  ///< the first work of each
};

/// The launches of one schedule.
class Sharing {
 public:
  Sharing(const StepModel& model, const std::vector<int>& stored, Schedule& schedule)
      : model_(model), stored_(stored), schedule_(schedule), taken_(schedule.tasks.size(), 0) {}

  void run() {
    schedule_.task_seconds.resize(schedule_.tasks.size());
    for (std::size_t t = 0; t < schedule_.tasks.size(); ++t) {
      schedule_.task_seconds[t] = work(t).seconds;
    }
    // As an executor finds them: patterns first.
    for (std::size_t t = 0; t < schedule_.tasks.size();) {
      const std::size_t chained = chain(t);
      t += chained > 1 ? chained : group(t);
    }
    for (std::size_t t = 0; t < schedule_.tasks.size();) t += generated(t);
    schedule_.seconds = 0;
    schedule_.again_seconds = 0;
    for (std::size_t t = 0; t < schedule_.tasks.size(); ++t) {
      schedule_.seconds += schedule_.task_seconds[t];
      if (schedule_.tasks[t].again) schedule_.again_seconds += schedule_.task_seconds[t];
    }
  }

 private:
  const Work& work(std::size_t task) const {
    return model_.work[static_cast<std::size_t>(schedule_.tasks[task].work)];
  }
  double bytes_of(ValueId value) const {
    return static_cast<double>(model_.graph->value(value).type.bytes());
  }
  double bytes_of_instance(int instance) const {
    const int root = schedule_.instances[static_cast<std::size_t>(instance)].root;
    return bytes_of(model_.roots[static_cast<std::size_t>(root)].value);
  }
  int read(std::size_t task, std::size_t input) const {
    return schedule_.reads[static_cast<std::size_t>(schedule_.tasks[task].first_instance) + input];
  }
  /// Whether a task after `task`, a copy or the caller reads it.
  bool is_read_after(int instance, std::size_t task) const {
    const Instance& made = schedule_.instances[static_cast<std::size_t>(instance)];
    return made.last > static_cast<int>(task) ||
           stored_[static_cast<std::size_t>(made.root)] == instance;
  }

  double apart(std::size_t first, std::size_t count) const {
    double seconds = 0;
    for (std::size_t t = first; t < first + count; ++t) seconds += work(t).joining.seconds;
    return seconds;
  }
  void share(std::size_t first, std::size_t count, double seconds) {
    const double alone = apart(first, count);
    if (!(alone > 0)) return;
    for (std::size_t t = first; t < first + count; ++t) {
      schedule_.task_seconds[t] *= seconds / alone;
    }
  }
  void fuse(std::size_t first, std::size_t count, double saved) {
    std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(first), count, 1);
    share(first, count, fused_seconds(apart(first, count), count, saved, model_.device));
  }

  /// How many tasks from `t` on are dealt with.
  std::size_t chain(std::size_t t) {
    if (t + 1 == schedule_.tasks.size()) return 1;
    const Work& second = work(t + 1);
    const std::vector<int>& after = second.joining.after;
    if (std::ranges::find(after, schedule_.tasks[t].work) == after.end()) return 1;
    const int handed = schedule_.tasks[t].first_output;
    for (std::size_t i = 0; i < second.inputs.size(); ++i) {
      if (read(t + 1, i) != handed) continue;
      fuse(t, 2, bytes_of_instance(handed) * (is_read_after(handed, t + 1) ? 1 : 2));
      return 2;
    }
    return 1;
  }
  std::size_t group(std::size_t t) {
    if (work(t).joining.group < 0) return 1;
    std::size_t count = 1;
    while (t + count < schedule_.tasks.size() &&
           work(t + count).joining.group == work(t).joining.group) {
      ++count;
    }
    if (count > 1) fuse(t, count, 0);
    return count;
  }

  std::size_t generated(std::size_t first) {
    const std::int64_t elements = work(first).joining.elements;
    if (elements == 0) return 1;
    std::size_t count = 0;
    instances_.clear();
    states_.clear();
    while (first + count < schedule_.tasks.size() && count < ops::kMostPointwiseSteps) {
      const std::size_t t = first + count;
      if (taken_[t] != 0 || work(t).joining.elements != elements) break;
      if (!add_reads(first, t)) break;
      ++count;
    }
    // A kernel with fewer results is one with fewer ops.
    while (count > 1 && written(first, count) > ops::kMostPointwiseWritten) --count;
    if (count < 2) return 1;
    instances_.clear();
    states_.clear();
    double arithmetic = 0;
    double bytes = 0;
    for (std::size_t t = first; t < first + count; ++t) {
      (void)add_reads(first, t);
      arithmetic += work(t).joining.arithmetic;
      const int made = schedule_.tasks[t].first_output;
      if (is_read_after(made, first + count - 1)) bytes += bytes_of_instance(made);
    }
    for (const int instance : instances_) bytes += bytes_of_instance(instance);
    for (const int state : states_) bytes += bytes_of(state);
    share(first, count,
          std::min(generated_seconds(arithmetic, bytes, model_.device), apart(first, count)));
    return count;
  }

  /// Notes what task `t` of the kernel that begins with `first` reads from outside; false if that
  /// is more than a kernel can read.
  bool add_reads(std::size_t first, std::size_t t) {
    const auto add = [](std::vector<int>& list, int item) {
      if (std::ranges::find(list, item) == list.end()) list.push_back(item);
    };
    const int inside = schedule_.tasks[first].first_output;
    for (std::size_t i = 0; i < work(t).inputs.size(); ++i) {
      const int instance = read(t, i);
      const int born = schedule_.instances[static_cast<std::size_t>(instance)].born;
      if (instance < inside || born < static_cast<int>(first)) add(instances_, instance);
    }
    for (const int state : work(t).reads_state) add(states_, state);
    return instances_.size() + states_.size() <= ops::kMostPointwiseArrays;
  }
  std::size_t written(std::size_t first, std::size_t count) const {
    std::size_t all = 0;
    for (std::size_t t = first; t < first + count; ++t) {
      all += is_read_after(schedule_.tasks[t].first_output, first + count - 1) ? 1 : 0;
    }
    return all;
  }

  const StepModel& model_;
  const std::vector<int>& stored_;
  Schedule& schedule_;
  std::vector<char> taken_;
  std::vector<int> instances_;  ///< that the kernel reads
  std::vector<int> states_;
};

}  // namespace

void find_joinings(StepModel& model) { Joinings(model).find(); }

void share_launches(const StepModel& model, const std::vector<int>& stored, Schedule& schedule) {
  Sharing(model, stored, schedule).run();
}

}  // namespace plimsoll::plan
