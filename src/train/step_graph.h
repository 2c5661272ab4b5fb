#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/ops/tf32.h>
#include <plimsoll/train/loss.h>
#include <plimsoll/train/metric.h>
#include <plimsoll/train/precision.h>

#include "train/layout.h"

namespace plimsoll::train {

/// What a step is fed.
struct Batch {
  std::vector<TensorType> inputs;
  std::vector<TensorType> targets;
  std::int64_t size() const { return inputs.front().shape[0]; }
};

/// What is trained and how it is judged.
struct Minimised {
  const nn::Model& model;
  const Loss& loss;
  const std::vector<Metric>& metrics;  ///< none: accuracy, where that costs no further layers
};

/// What one trace of a training step is of.
enum class StepPart : std::uint8_t {
  whole,   ///< a batch that is not split
  first,   ///< the first micro-batch: its gradients begin the sums
  middle,  ///< adds to them
  last,    ///< adds its own and updates
};

struct StepRules {
  Precision precision;
  bool channels_last = false;  ///< how pictures are laid out where it runs
  double clip_norm = 0;
  double clip_value = 0;
  double average_decay = 0;
};

/// A graph and what its outputs are: "loss", the mean over a batch, then the sums of metrics by
/// their names, each divided by the batch's size.
struct JudgedGraph {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<std::string> outputs;
};

/// A step on a batch, one of `parts` of a batch. Where no metrics are asked for and the loss is a
/// cross-entropy of logits with the target, it gives the accuracy; metrics are of what the model
/// gives while it trains, and left out where its own loss does not tell that.
JudgedGraph trace_step(const Minimised& what, optim::Optimizer& optimizer, LossScale* loss_scale,
                       const std::vector<optim::State>* average,
                       const std::vector<optim::State>* gradients, const StepRules& rules,
                       const Batch& batch, StepPart part, std::int64_t parts);

/// Gives the accuracy where no metrics are asked for and it costs no further layers.
JudgedGraph trace_evaluation(const Minimised& what, const Precision& precision, bool channels_last,
                             const Batch& batch);

/// The same into the trace that is in force: the outputs, whose names are added to `names`.
nn::Tensors evaluation_outputs(const Minimised& what, const Precision& precision,
                               const nn::Tensors& inputs, const nn::Tensors& targets,
                               std::vector<std::string>& names);

/// What a model computes in until it goes out of scope.
class PolicyScope {
 public:
  explicit PolicyScope(const Precision& precision)
      : compute_(precision.compute), tf32_(precision.tf32) {}

 private:
  ops::PrecisionScope compute_;
  ops::Tf32Scope tf32_;
};

/// Evaluation mode until it goes out of scope.
class EvaluationMode {
 public:
  explicit EvaluationMode(const nn::Model& model) : model_(model), before_(model.training()) {
    model.eval();
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  ~EvaluationMode() { model_.train(before_); }

 private:
  const nn::Model& model_;
  bool before_;
};

/// The model's output for an input of that type, in evaluation mode.
std::shared_ptr<const graph::Graph> trace_prediction(const nn::Model& model,
                                                     const Precision& precision, bool channels_last,
                                                     const std::vector<TensorType>& inputs);

/// True if results depend on how a batch is split: it has statistics of the batch.
bool has_batch_statistics(const graph::Graph& graph);

}  // namespace plimsoll::train
