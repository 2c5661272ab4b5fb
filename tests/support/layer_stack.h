#pragma once

#include <memory>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/plan/executor.h>

namespace plimsoll::test {

/// A stack of layers with residual connections, its training step traced.
struct LayerStack {
  LayerStack(const Device& device, int layers, std::int64_t batch, std::int64_t width);

  /// Every parameter as it was at first.
  void reset();
  /// Of so many steps from the beginning, the range watched over.
  std::vector<float> losses(const plan::Plan& plan, const Device& device, int steps = 3,
                            const std::shared_ptr<Storage>& host = nullptr);

  Tensor feed;
  std::vector<Tensor> weights;
  std::vector<std::vector<float>> initial;
  std::shared_ptr<graph::Graph> graph;
};

}  // namespace plimsoll::test
