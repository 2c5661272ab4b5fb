#include <plimsoll/plan/timeline.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <plimsoll/plan/generated_kernels.h>

namespace plimsoll::plan {
namespace {

using Kind = TimelineValue::Kind;

class Builder {
 public:
  explicit Builder(const Plan& plan)
      : plan_(plan),
        graph_(*plan.graph),
        seconds_(task_seconds(plan)),
        updates_(graph_.values().size()) {
    for (const graph::Node& node : graph_.nodes()) {
      if (node.op->writes == 0) continue;
      for (const graph::ValueId input : node.inputs) {
        updates_[static_cast<std::size_t>(graph_.value(input).memory)] = true;
      }
    }
  }

  Timeline run() {
    const int count = static_cast<int>(plan_.tasks.size());
    for (const Place& place : plan_.inputs) hold(place, Kind::fed, -1);
    for (int at = 0; at < count; ++at) {
      follow_copies(at);
      const PlannedTask& task = plan_.tasks[static_cast<std::size_t>(at)];
      add_task(task, seconds_[static_cast<std::size_t>(at)]);
      for (const Place& place : task.inputs) use(place, at);
      if (task.workspace != 0) {
        end_overlaps(task.workspace_offset, task.workspace);
        done_.push_back({.kind = Kind::workspace,
                         .tag = Tag::workspace,
                         .offset = task.workspace_offset,
                         .bytes = task.workspace,
                         .from = at,
                         .to = at});
      }
      for (const Place& place : task.outputs) {
        hold(place, task.again ? Kind::again : Kind::computed, at);
      }
    }
    follow_copies(count);
    for (const Place& place : plan_.outputs) use(place, count);
    for (auto& [offset, value] : held_) done_.push_back(std::move(value));
    std::ranges::sort(done_, {}, [](const TimelineValue& value) {
      return std::tuple(value.from, value.offset, value.kind);
    });
    all_.values = std::move(done_);
    return std::move(all_);
  }

 private:
  void add_task(const PlannedTask& task, double seconds) {
    const graph::Node& node = graph_.node(task.node);
    all_.tasks.push_back({.op = std::string(node.op->name),
                          .scope = node.scope,
                          .seconds = seconds,
                          .backward = node.backward,
                          .again = task.again});
  }

  /// Whoever lay there was read for the last time before.
  void end_overlaps(Bytes offset, Bytes bytes) {
    auto it = held_.upper_bound(offset);
    if (it != held_.begin() && std::prev(it)->first + std::prev(it)->second.bytes > offset) --it;
    while (it != held_.end() && it->first < offset + bytes) {
      done_.push_back(std::move(it->second));
      it = held_.erase(it);
    }
  }

  /// As Plan::at_peak counts it.
  Tag tag_of(const graph::Value& value, Kind kind) const {
    if (value.role != graph::Role::computed) {
      return kind == Kind::fetched ? Tag::staging : Tag::input;
    }
    const bool backward = graph_.node(value.producer).backward;
    return backward && updates_[static_cast<std::size_t>(value.memory)] ? Tag::gradients
                                                                        : Tag::activations;
  }

  void hold(const Place& place, Kind kind, int from) {
    const graph::Value& value = graph_.value(place.value);
    const Bytes bytes = value.type.bytes();
    if (place.persistent || bytes == 0) return;
    end_overlaps(place.offset, bytes);
    held_[place.offset] = {.kind = kind,
                           .tag = tag_of(value, kind),
                           .name = value.name,
                           .offset = place.offset,
                           .bytes = bytes,
                           .from = from,
                           .to = std::max(from, 0)};
  }

  void use(const Place& place, int at) {
    if (place.persistent) return;
    if (const auto it = held_.find(place.offset); it != held_.end()) it->second.to = at;
  }

  void follow_copies(int at) {
    for (; next_copy_ < plan_.copies.size() && plan_.copies[next_copy_].begins == at;
         ++next_copy_) {
      const PlannedCopy& copy = plan_.copies[next_copy_];
      if (!copy.out) {
        hold(copy.place, Kind::fetched, at);
        use(copy.place, std::max(at, copy.needed));
        continue;
      }
      // Its bytes are taken until the copy is done.
      if (const auto it = held_.find(copy.place.offset); it != held_.end()) {
        it->second.offloaded = true;
        it->second.to = std::max(it->second.to, copy.needed - 1);
      }
    }
  }

  const Plan& plan_;
  const graph::Graph& graph_;
  std::vector<double> seconds_;  ///< of tasks
  std::vector<bool> updates_;    ///< values that an update reads, by the memory they are
  Timeline all_;
  std::map<Bytes, TimelineValue> held_;  ///< by offset
  std::vector<TimelineValue> done_;
  std::size_t next_copy_ = 0;
};

}  // namespace

Timeline timeline_of(const Plan& plan) { return Builder(plan).run(); }

}  // namespace plimsoll::plan
