#include "plan/build_plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <plimsoll/plan/generated_kernels.h>
#include <plimsoll/plan/placement.h>

#include "plan/launch_seconds.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::Value;
using graph::ValueId;

/// The instances of a schedule as buffers: what takes over another's memory is one with it.
struct Buffers {
  std::vector<Buffer> list;
  std::vector<int> of_instance;
  std::vector<int> of_workspace;  ///< by task; -1 if it needs none
};

Buffers buffers_of(const StepModel& model, const Schedule& schedule) {
  Buffers buffers;
  buffers.of_instance.assign(schedule.instances.size(), -1);
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    const Instance& instance = schedule.instances[i];
    const std::int64_t end = instance.last + 1;
    if (instance.over >= 0) {
      const int shared = buffers.of_instance[static_cast<std::size_t>(instance.over)];
      buffers.of_instance[i] = shared;
      Buffer& buffer = buffers.list[static_cast<std::size_t>(shared)];
      buffer.upper = std::max(buffer.upper, end);
      continue;
    }
    buffers.of_instance[i] = static_cast<int>(buffers.list.size());
    buffers.list.push_back({.size = model.roots[static_cast<std::size_t>(instance.root)].bytes,
                            .lower = std::max(instance.born, 0),
                            .upper = std::max<std::int64_t>(end, 0)});
  }
  for (std::size_t t = 0; t < schedule.tasks.size(); ++t) {
    const Bytes bytes = model.work[static_cast<std::size_t>(schedule.tasks[t].work)].workspace;
    buffers.of_workspace.push_back(bytes == 0 ? -1 : static_cast<int>(buffers.list.size()));
    if (bytes == 0) continue;
    const auto at = static_cast<std::int64_t>(t);
    buffers.list.push_back({.size = bytes, .lower = at, .upper = at + 1});
  }
  return buffers;
}

Tag tag_of(const StepModel& model, const Root& root) {
  if (root.state) return Tag::staging;
  if (root.producer < 0) return Tag::input;
  const Graph& graph = *model.graph;
  const Node& producer = graph.node(model.work[static_cast<std::size_t>(root.producer)].node);
  if (!producer.backward) return Tag::activations;
  for (const int use : root.uses) {
    const Node& reader = graph.node(model.work[static_cast<std::size_t>(use)].node);
    if (reader.op->writes != 0) return Tag::gradients;
  }
  return Tag::activations;
}

void count_at_peak(const StepModel& model, const Schedule& schedule, Plan& plan) {
  for (const ValueId id : model.persistent) {
    const Value& value = model.graph->value(id);
    const Tag tag = value.role == Role::parameter ? Tag::parameters : value.tag;
    plan.at_peak[tag] += aligned(value.type.bytes());
  }
  plan.at_peak[Tag::user] += output_bytes(model);
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    const Instance& instance = schedule.instances[i];
    if (instance.born > schedule.peak_task || instance.last < schedule.peak_task) continue;
    // What is written over counts once, as what it becomes.
    const bool taken_over = std::any_of(
        schedule.instances.begin(), schedule.instances.end(), [&](const Instance& other) {
          return other.over == static_cast<int>(i) && other.born == schedule.peak_task;
        });
    if (taken_over) continue;
    const Root& root = model.roots[static_cast<std::size_t>(instance.root)];
    plan.at_peak[tag_of(model, root)] += root.bytes;
  }
  if (!schedule.tasks.empty()) {
    const Task& task = schedule.tasks[static_cast<std::size_t>(schedule.peak_task)];
    plan.at_peak[Tag::workspace] += model.work[static_cast<std::size_t>(task.work)].workspace;
  }
  plan.at_peak[Tag::workspace] += plan.workspace;
  plan.at_peak[Tag::runtime] += plan.runtime;
}

/// "recompute: 49 batch_norm, 48 relu"
std::string recompute_text(const StepModel& model, const Schedule& schedule) {
  std::map<std::string_view, int> counts;
  for (const Task& task : schedule.tasks) {
    if (task.again) {
      ++counts[model.graph->node(model.work[static_cast<std::size_t>(task.work)].node).op->name];
    }
  }
  std::vector<std::pair<int, std::string_view>> sorted;
  for (const auto& [name, count] : counts) sorted.emplace_back(-count, name);
  std::sort(sorted.begin(), sorted.end());
  std::string text = "recompute:";
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 4) {
      text += fmt::format(" and {} other ops", sorted.size() - i);
      break;
    }
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", -sorted[i].first, sorted[i].second);
  }
  return text;
}

/// Every value has its place in the host's memory to itself.
template <typename PlaceOf>
void add_copies(const StepModel& model, const Schedule& schedule, Plan& plan,
                const PlaceOf& place_of) {
  std::map<int, Bytes> homes;  // by root
  for (const Transfer& transfer : schedule.transfers) {
    const int r = schedule.instances[static_cast<std::size_t>(transfer.instance)].root;
    const Root& root = model.roots[static_cast<std::size_t>(r)];
    PlannedCopy copy{.out = transfer.out,
                     .place = place_of(root.value, transfer.instance),
                     .state = root.state,
                     .begins = transfer.begins,
                     .needed = transfer.needed};
    if (!root.state) {
      const auto [home, added] = homes.emplace(r, plan.host);
      if (added) plan.host += root.bytes;
      copy.host_offset = home->second;
    }
    plan.copies.push_back(copy);
  }
}

/// "offload: 12 activations of 1.2 GiB, 24 states of 300 MiB"
std::string offload_text(const StepModel& model, const Plan& plan) {
  int states = 0;
  int values = 0;
  for (const PlannedCopy& copy : plan.copies) {
    if (copy.out) ++(copy.state ? states : values);
  }
  std::string text = "offload:";
  if (values != 0) text += fmt::format(" {} activations of {}", values, format_bytes(plan.host));
  if (states != 0) {
    text += fmt::format("{} {} states of {}", values != 0 ? "," : "", states,
                        format_bytes(model.away_bytes));
  }
  return text;
}

/// Predicts a plan by its own launches: those that were assumed while it was sought may have no
/// place where it puts values.
void predict_launches(const StepModel& model, bool keeps_all, Plan& plan) {
  if (!fuses(plan.device)) return;
  std::vector<double> apart(model.graph->nodes().size(), 0);
  for (const Work& work : model.work) apart[static_cast<std::size_t>(work.node)] = work.seconds;
  const std::vector<double> seconds = task_seconds(plan, apart);
  plan.seconds = plan.again_seconds = 0;
  for (std::size_t t = 0; t < seconds.size(); ++t) {
    plan.seconds += seconds[t];
    if (plan.tasks[t].again) plan.again_seconds += seconds[t];
  }
  if (keeps_all) plan.kept_seconds = plan.seconds;
  plan.seconds += plan.wait_seconds;
}

}  // namespace

Bytes output_bytes(const StepModel& model) {
  Bytes bytes = 0;
  for (const ValueId id : model.graph->outputs()) {
    bytes += aligned(model.graph->value(id).type.bytes());
  }
  return bytes;
}

Plan build_plan(const StepModel& model, const Choice& choice, const PlanOptions& options,
                Bytes budget, const Choice& kept_all) {
  Scheduler scheduler(model);
  scheduler.set_tight(choice.tight);
  const Schedule& schedule =
      choice.runs.empty() ? scheduler.run(choice.keep) : scheduler.run(choice.runs);
  const Buffers buffers = buffers_of(model, schedule);

  Plan plan;
  plan.graph = model.graph;
  plan.device = options.device;
  plan.budget = budget;
  plan.persistent = model.persistent_bytes + output_bytes(model);
  plan.workspace = options.device.workspace;
  plan.runtime = options.device.runtime;
  plan.seconds = schedule.seconds;
  plan.again_seconds = schedule.again_seconds;
  plan.wait_seconds = schedule.wait_seconds;
  plan.kept_seconds = kept_all.seconds - kept_all.waits;
  plan.away = model.away_bytes;

  const PlacementOptions how{.time_limit = options.placement_time, .alignment = kAlignment};
  Placement placement = place_fast(buffers.list, how);
  if (placement.height > placement.lower_bound) placement = place(buffers.list, how);
  plan.range = aligned(placement.height);
  plan.lower_bound = placement.lower_bound;

  const auto place_of = [&](ValueId value, int instance) {
    if (instance < 0) return Place{value, true, 0};
    const int buffer = buffers.of_instance[static_cast<std::size_t>(instance)];
    return Place{value, false, placement.offsets[static_cast<std::size_t>(buffer)]};
  };
  std::vector<int> live(model.roots.size(), -1);
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    if (schedule.instances[i].born < 0) {
      live[static_cast<std::size_t>(schedule.instances[i].root)] = static_cast<int>(i);
    }
  }
  const auto root_of = [&](ValueId v) { return model.root_of[static_cast<std::size_t>(v)]; };
  for (std::size_t v = 0; v < model.graph->values().size(); ++v) {
    const Value& value = model.graph->values()[v];
    if (value.role != Role::input) continue;
    const int root = root_of(static_cast<ValueId>(v));
    // One that nobody reads has no place.
    const int instance = root < 0 ? -1 : live[static_cast<std::size_t>(root)];
    plan.inputs.push_back(place_of(static_cast<ValueId>(v), instance));
  }
  for (std::size_t t = 0; t < schedule.tasks.size(); ++t) {
    const Task& task = schedule.tasks[t];
    const Work& work = model.work[static_cast<std::size_t>(task.work)];
    const Node& node = model.graph->node(work.node);
    PlannedTask planned{.node = work.node, .again = task.again, .workspace = work.workspace};
    if (buffers.of_workspace[t] >= 0) {
      planned.workspace_offset =
          placement.offsets[static_cast<std::size_t>(buffers.of_workspace[t])];
    }
    for (const ValueId v : node.inputs) {
      int instance = -1;
      if (root_of(v) >= 0) {
        const auto at = std::find(work.inputs.begin(), work.inputs.end(), root_of(v));
        instance = schedule.reads[static_cast<std::size_t>(task.first_instance) +
                                  static_cast<std::size_t>(at - work.inputs.begin())];
      }
      planned.inputs.push_back(place_of(v, instance));
    }
    int next = task.first_output;
    for (const ValueId v : node.outputs) {
      const int root = root_of(v);
      if (root >= 0 && model.roots[static_cast<std::size_t>(root)].state) {
        const auto in = std::find_if(planned.inputs.begin(), planned.inputs.end(),
                                     [&](const Place& p) { return root_of(p.value) == root; });
        planned.outputs.push_back({v, false, in->offset});
        continue;
      }
      planned.outputs.push_back(place_of(v, root < 0 ? -1 : next));
      if (root >= 0) live[static_cast<std::size_t>(root)] = next++;
    }
    plan.tf32_saves += work.tf32_saves;
    plan.tasks.push_back(std::move(planned));
  }
  for (const ValueId v : model.graph->outputs()) {
    const int root = root_of(v);
    int instance = -1;
    if (root >= 0) {
      // Outputs are never dropped, so the first is the only one that lasts.
      for (std::size_t i = 0; i < schedule.instances.size() && instance < 0; ++i) {
        if (schedule.instances[i].root == root) instance = static_cast<int>(i);
      }
    }
    plan.outputs.push_back(place_of(v, instance));
  }

  add_copies(model, schedule, plan, place_of);
  count_at_peak(model, schedule, plan);
  predict_launches(model, choice.runs.empty() && choice.keep == kept_all.keep, plan);
  if (plan.again_seconds > 0) {
    plan.measures.push_back({recompute_text(model, schedule),
                             kept_all.peak > schedule.peak ? kept_all.peak - schedule.peak : 0,
                             plan.again_seconds});
  }
  if (!plan.copies.empty()) {
    plan.measures.push_back(
        {offload_text(model, plan), plan.host + plan.away, schedule.wait_seconds});
  }
  return plan;
}

}  // namespace plimsoll::plan
