#pragma once

#include <vector>

#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/tape.h>

namespace plimsoll::ops {

/// The gradient of an op that `written(inputs)` is the same as, in ops that have gradients: for
/// second derivatives. The op keeps all of its inputs.
template <typename Written>
void by_written_out(GradientContext& g, const Written& written) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < g.input_count(); ++i) inputs.push_back(g.input(i));
  GradientTape tape;
  tape.watch(inputs);
  const std::vector<Tensor> outputs = written(inputs);
  std::vector<Tensor> seeds;
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) seeds.push_back(g.grad(i));
  const std::vector<Tensor> gradients = tape.gradient(outputs, inputs, seeds);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (gradients[i].defined()) g.set(static_cast<int>(i), gradients[i]);
  }
}

}  // namespace plimsoll::ops
