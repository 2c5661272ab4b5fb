#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/plan/executor.h>

namespace plimsoll::plan {

/// What ops take as measured, by op, attributes and types: what is learned from one graph serves
/// every other with the same work in it.
class OpTimes {
 public:
  /// Of a graph's nodes, by node id, in seconds; 0 for those that were not measured. Of nodes that
  /// do the same, and of what is known already, the least counts.
  void add(const graph::Graph& graph, std::span<const double> seconds);
  /// For PlanOptions::node_seconds: 0 for nodes that nothing is known of.
  std::vector<double> of(const graph::Graph& graph) const;
  /// Of a step of `plan`, copies that it waits for included; predicted for nodes that nothing is
  /// known of.
  double seconds(const Plan& plan) const;
  bool empty() const { return seconds_.empty(); }

 private:
  std::map<std::string, double> seconds_;
};

/// Seconds that the nodes of a plan take on the host, by node id: each kind of work once to warm up
/// and twice on the clock (long ones once in all), on zeros in the plan's range, whose contents are
/// lost. What writes state is left out (0), and nothing is allocated. `memory` is that of an
/// executor of this plan; its range and workspace must be given. For other devices it returns an
/// empty vector: there, times come from events of a running step.
std::vector<double> measure_nodes(const Plan& plan, const Device& device,
                                  const ExecutorOptions& memory);

}  // namespace plimsoll::plan
