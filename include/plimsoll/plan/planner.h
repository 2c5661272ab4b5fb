#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

struct PlanOptions {
  /// Everything on the device: persistent memory, the range, runtime, rounding.
  Bytes budget = kUnlimited;
  DeviceDescription device = {};
  /// Scopes (of modules: "encoder/block3") whose values must be kept, or computed anew.
  std::vector<std::string> keep = {};
  std::vector<std::string> recompute = {};
  /// What nodes take as measured, by node id, in seconds (OpTimes, or events of a running step);
  /// 0 and nodes beyond its end: as the device's description predicts. Changes what is computed
  /// again, never a result.
  std::vector<double> node_seconds = {};
  /// Host memory that what a step computes may be put into until it is needed again; 0: none.
  Bytes host_room = 0;
  /// State, by name, that is in the host's memory between steps and comes to the device for its
  /// update only: some of movable_state_of(). Names that the graph does not have are ignored.
  std::vector<std::string> away = {};
  /// For the placement's search.
  std::chrono::milliseconds placement_time = std::chrono::milliseconds(500);
};

/// The names of what may be PlanOptions::away, and its bytes; the state whose update comes first in
/// a step is the first, as its copies have the most time.
std::vector<std::pair<std::string, Bytes>> movable_state_of(const graph::Graph& graph);

/// Time against memory.
struct CurvePoint {
  Bytes budget = 0;
  double seconds = 0;
};

/// Plans one graph for any number of budgets. What does not depend on the budget (fusion,
/// algorithms, order of sums) is settled here. Not thread-safe.
class Planner {
 public:
  /// Throws InvalidArgument for hints that name no scope of the graph.
  Planner(std::shared_ptr<const graph::Graph> graph, const PlanOptions& options);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// The fastest plan found whose total is at most `budget`. Throws BudgetTooSmall with the
  /// smallest budget found, which then works.
  Plan plan(Bytes budget);
  /// The same; nullopt if there is none.
  std::optional<Plan> find(Bytes budget);
  /// What every plan takes besides its range: persistent state, copies of the outputs, the
  /// workspace slot and runtime, not rounded to pages.
  Bytes fixed_bytes() const;
  /// No plan's range is smaller: what the largest task takes alone. Found at once.
  Bytes least_range() const;
  /// The smallest total found, without splitting the batch. It is found again: nothing in it looks
  /// at a clock.
  const Plan& smallest();
  /// With everything kept.
  Plan largest();
  /// From the largest useful budget to the smallest possible one; one point where nothing can be
  /// saved.
  std::vector<CurvePoint> curve(int points = 12);
  /// The yardstick: persistent state, copies of the outputs, inputs, all gradients of parameters,
  /// and everything that gradients need, all at once; nothing is computed in place, again or early.
  Bytes kept_bytes() const;
  /// What a step takes that keeps all of that: beside it there are the workspace slot and, at the
  /// worst moment, values that come and go and a task's workspace. No plan's tasks need more at a
  /// time.
  Bytes unconstrained_peak() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::plan
