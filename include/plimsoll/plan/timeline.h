#pragma once

#include <span>
#include <string>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// A task of a plan, as people look at it.
struct TimelineTask {
  std::string op;
  std::string scope;      ///< of the module it belongs to: "encoder/block3"
  double seconds = 0;     ///< predicted by the device's description
  bool backward = false;  ///< part of the backward pass
  bool again = false;     ///< recomputes what was dropped
};

/// A stretch of a plan's range that one value has from one task to another.
struct TimelineValue {
  enum class Kind : std::uint8_t {
    fed,        ///< an input, copied there before the first task
    computed,   ///< by task `from`
    again,      ///< recomputed by task `from`
    fetched,    ///< copied back from the host's memory
    workspace,  ///< scratch of task `from`
  };
  Kind kind = Kind::computed;
  Tag tag = Tag::activations;
  std::string name;  ///< of inputs and state; empty for what a task computes
  Bytes offset = 0;
  Bytes bytes = 0;
  int from = 0;  ///< the first task that it is there for, and the last; -1: before the first,
  int to = 0;    ///< tasks.size(): until the step's end
  /// A copy in the host's memory is made in this time: the value is offloaded.
  bool offloaded = false;
};

/// What a plan places where and when, derived from the plan alone.
struct Timeline {
  std::vector<TimelineTask> tasks;    ///< one for each of Plan::tasks
  std::vector<TimelineValue> values;  ///< by `from`, then by offset
};

Timeline timeline_of(const Plan& plan);

/// The same as one JSON object, for run logs and reports; docs/run-log.md has its fields.
std::string to_json(const Timeline& timeline);

}  // namespace plimsoll::plan
