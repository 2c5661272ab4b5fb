#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// A block of memory that a step computes: a value, with all its views.
struct Root {
  graph::ValueId value = graph::kNone;
  Bytes bytes = 0;         ///< rounded up to the arena's alignment
  int producer = -1;       ///< index into StepModel::work; -1 for inputs and state
  bool state = false;      ///< is in the host's memory between steps
  bool output = false;     ///< must be there at the end
  bool droppable = false;  ///< can be computed again
  std::vector<int> uses;   ///< positions in the base order, rising, each once
  /// If it is dropped, then after this position: its last need before the backward pass.
  int drop_after = 0;
  int last_use = 0;
};

/// How a work may share a launch with its neighbours, on a device that fuses; see
/// shared_launches.h.
struct Joining {
  double seconds = 0;         ///< that the work takes by itself, by the device's description
  std::int64_t elements = 0;  ///< of its result if it can be in a generated kernel; else 0
  double arithmetic = 0;      ///< seconds that it adds to such a kernel's arithmetic
  int group = -1;             ///< works of one group may be one launch as neighbours; -1: in none
  std::vector<int> after;     ///< works right after which it may take over their first output
};

/// A node that has work to do, as the planner sees it.
struct Work {
  graph::NodeId node = graph::kNone;
  std::vector<int> inputs;   ///< roots, each once; persistent memory is not listed
  std::vector<int> outputs;  ///< roots
  /// Output root over input root, where the op allows it and sizes agree.
  std::vector<std::pair<int, int>> in_place;
  std::vector<int> reads_state;   ///< persistent memory it reads, by value id
  std::vector<int> writes_state;  ///< and overwrites
  double seconds = 0;
  double tf32_saves = 0;  ///< of which would be saved by TF32
  Bytes workspace = 0;
  Joining joining;
};

/// A graph digested for planning: what is persistent, what each node reads and writes, what it
/// costs, and the order in which nodes run when nothing is recomputed.
struct StepModel {
  std::shared_ptr<const graph::Graph> graph;
  DeviceDescription device;
  std::vector<Root> roots;
  std::vector<Work> work;                  ///< in base order
  int first_backward = 0;                  ///< position of the first gradient
  std::vector<int> root_of;                ///< by value id; -1 for persistent memory
  std::vector<graph::ValueId> persistent;  ///< parameters, state, constants that are used
  Bytes persistent_bytes = 0;              ///< without `away`
  Bytes away_bytes = 0;                    ///< state that is in the host's memory between steps
  Bytes host_room = 0;                     ///< for what a step computes and puts there for a while
  double host_bytes_per_second = 0;        ///< of copies, each way, as the device is described
  double measured_copy_rate = 0;           ///< as measured; else the same
  double bytes_per_second = 0;             ///< of the device's memory
  /// What a copy to or from the host takes; `described`: by the device's description alone.
  double copy_seconds(Bytes bytes, bool described) const;
};

/// Every block of the arena starts at a multiple of this.
inline constexpr Bytes kAlignment = 256;
constexpr Bytes aligned(Bytes bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Smaller values and state are not worth a copy to the host.
inline constexpr Bytes kLeastMoved = KiB(16);

/// Nodes in the order they run when nothing is recomputed: as traced, but what only leads to
/// writes (updates, statistics) as soon as it can, so that gradients do not pile up; a parameter is
/// updated when nobody reads a cast of it any more, which can be made again so long. Casts of small
/// parameters come first and their updates last, beside each other so that a device can run them
/// together, as far as that takes less than 1 MiB and 1/256 of what a step computes.
std::vector<graph::NodeId> base_order(const graph::Graph& graph);

/// State that may be in the host's memory between steps, the one whose update comes first first:
/// only the optimizer's, which one node reads and writes.
std::vector<graph::ValueId> movable_state(const graph::Graph& graph);

/// What is given to a model beside the graph; see PlanOptions.
struct StepModelOptions {
  std::vector<double> node_seconds = {};
  std::vector<std::string> away = {};
  Bytes host_room = 0;
};

/// Throws InvalidArgument if `away` names what is not movable.
StepModel make_step_model(std::shared_ptr<const graph::Graph> graph,
                          const DeviceDescription& device, const StepModelOptions& options = {});

}  // namespace plimsoll::plan
