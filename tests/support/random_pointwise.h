#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::test {

/// A graph of pointwise ops that a seed has chosen, and feeds for it: chains and diamonds of
/// arithmetic, functions, activations, gradients, comparisons, choices and casts, over tensors of
/// one shape, scalars, rows and columns.
struct RandomPointwise {
  /// `dtype` is f64, f32, f16 or bf16.
  RandomPointwise(std::uint64_t seed, const Shape& shape, DType dtype, int ops);

  std::shared_ptr<const graph::Graph> graph;
  std::vector<Tensor> feeds;
};

}  // namespace plimsoll::test
