#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/graph/graph.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// Where a value is while a task runs.
struct Place {
  graph::ValueId value = graph::kNone;
  bool persistent = false;  ///< in the tensor it is bound to; else at `offset` of the range
  Bytes offset = 0;
};

/// One run of a node.
struct PlannedTask {
  graph::NodeId node = graph::kNone;
  bool again = false;  ///< computes anew what was dropped
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  Bytes workspace = 0;
  Bytes workspace_offset = 0;
};

/// A copy between the range and the host's memory, which runs beside the tasks on a queue of its
/// own, one each way.
struct PlannedCopy {
  bool out = false;  ///< to the host
  Place place;       ///< in the range
  /// State has its home in the tensor it is bound to; other values at this offset of the plan's
  /// host memory.
  bool state = false;
  Bytes host_offset = 0;
  int begins = 0;  ///< index of a task: when all before it are done
  int needed = 0;  ///< this task waits for it; tasks.size(): the step's end does
};

/// Something the planner did to save memory, with what it brought and cost.
struct Measure {
  std::string what;    ///< "recompute: 49 batch_norm, 48 relu"
  Bytes saved = 0;     ///< off the peak
  double seconds = 0;  ///< added to a step
};

/// A step in which every byte has its place, before anything is allocated. Immutable data.
struct Plan {
  std::shared_ptr<const graph::Graph> graph;
  DeviceDescription device;
  Bytes budget = 0;

  std::vector<PlannedTask> tasks;
  /// By `begins`; of those that begin together, the ones to the host first. A task's waits for
  /// copies to the host come before the copies that begin with it.
  std::vector<PlannedCopy> copies;
  /// Where the inputs are copied to before the first task.
  std::vector<Place> inputs;
  /// Where the outputs are after the last; they are copied out.
  std::vector<Place> outputs;

  Bytes range = 0;        ///< everything a step computes, at fixed offsets
  Bytes lower_bound = 0;  ///< no placement of these tasks is smaller than this
  Bytes persistent = 0;   ///< parameters, state, constants, copies of the outputs
  Bytes workspace = 0;    ///< slot of the device's description
  Bytes runtime = 0;
  Bytes host = 0;            ///< of pinned host memory, for values that are put there for a while
  Bytes away = 0;            ///< state that is in the host's memory between steps
  double seconds = 0;        ///< predicted for a step
  double again_seconds = 0;  ///< of which spent on computing anew
  double wait_seconds = 0;   ///< and on waiting for copies
  double kept_seconds = 0;   ///< predicted if nothing had to be saved
  double tf32_saves = 0;     ///< what TF32 instead of f32 would save of `seconds`, predicted
  /// Planner::unconstrained_peak(), to compare with.
  Bytes unconstrained_peak = 0;
  /// What is held at the moment of the peak.
  std::map<Tag, Bytes> at_peak;
  std::vector<Measure> measures;

  /// Bytes of the arena: what the budget is charged with, but for rounding to pages.
  Bytes arena_bytes() const { return persistent + range + workspace; }
  /// What it takes in all, pages rounded up.
  Bytes total() const;

  /// "fits: 6.7 of 7.0 GiB ..." for people.
  std::string explain() const;
  /// The same for programs: one object.
  std::string to_json() const;
};

}  // namespace plimsoll::plan
