#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::plan {

struct RunOptions {
  /// An order of the graph's nodes that respects its dependencies; empty: as they are.
  std::vector<graph::NodeId> order = {};
  ops::RandomKey random = {};
};

/// The trivial plan: runs a graph node by node on `device`, each value in memory of its own that
/// is freed after its last reader. The reference for every other plan.
///
/// `feeds` has a tensor for each input by its name; parameters and state are the tensors they were
/// bound to, and are written in place. Returns the graph's outputs. Throws InvalidArgument for a
/// feed that is missing or of another type and for a parameter without data.
std::vector<Tensor> run_graph(const graph::Graph& graph, const std::map<std::string, Tensor>& feeds,
                              const Device& device, const RunOptions& options = {});

/// A random order of the graph's nodes that respects its dependencies, for tests.
std::vector<graph::NodeId> random_order(const graph::Graph& graph, std::uint64_t seed);

}  // namespace plimsoll::plan
