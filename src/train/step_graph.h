#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/train/precision.h>

#include "train/layout.h"

namespace plimsoll::train {

/// What one trace of a training step is of.
enum class StepPart : std::uint8_t {
  whole,   ///< a batch that is not split
  first,   ///< the first micro-batch: its gradients begin the sums
  middle,  ///< adds to them
  last,    ///< adds its own and updates
};

struct StepRules {
  Precision precision;
  DeviceKind device = DeviceKind::cpu;  ///< where it runs: pictures are laid out for that
  double clip_norm = 0;
  double clip_value = 0;
  double average_decay = 0;
};

/// A step on `n` elements, one of `parts` of a batch. Its outputs are the loss, the mean over the
/// n, and, where the loss is a cross-entropy of logits with the target, the accuracy.
std::shared_ptr<const graph::Graph> trace_step(nn::Model& model, optim::Optimizer& optimizer,
                                               LossScale* loss_scale,
                                               const std::vector<optim::State>* average,
                                               const std::vector<optim::State>* gradients,
                                               const StepRules& rules, std::int64_t n,
                                               StepPart part, std::int64_t parts);

struct EvaluationGraph {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<std::string> outputs;  ///< "loss", and "accuracy" where it costs no further layers
};
EvaluationGraph trace_evaluation(nn::Model& model, const Precision& precision, DeviceKind device,
                                 std::int64_t n);

/// The model's output for an input of that type, in evaluation mode.
std::shared_ptr<const graph::Graph> trace_prediction(nn::Model& model, const Precision& precision,
                                                     DeviceKind device, const TensorType& input);

/// True if results depend on how a batch is split: it has statistics of the batch.
bool has_batch_statistics(const graph::Graph& graph);

}  // namespace plimsoll::train
