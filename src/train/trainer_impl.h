#pragma once

#include <plimsoll/function/function.h>
#include <plimsoll/plan/op_times.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/trainer.h>

#include "train/step_graph.h"
#include "train/training_memory.h"

namespace plimsoll::train {

class StepRunner;

/// What a trainer is made of, for the files that do its work.
class Trainer::Impl {
 public:
  Impl(const nn::Model& model, const optim::Optimizer& optimizer, const TrainerOptions& options);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  /// A batch of `n`. InvalidArgument where neither the model nor a dataset has told.
  Batch batch(std::int64_t n) const;
  Minimised minimised() const { return {model, options.loss, options.metrics}; }
  /// Learns from a dataset what a batch is, where the model does not say. It may have to make the
  /// first one, in the memory of `host`.
  void learn(const data::Dataset& dataset, const Device& host);
  /// The components of an element that are fed, inputs first; with `targets` false only those.
  nn::Tensors feeds_of(const data::Element& element, bool with_targets = true) const;
  /// Infers what layers were not told, and gives the optimizer its variables.
  void prepare();
  Device device() const;

  PersistentState persistent(bool split) const;
  StepRules rules(const Capabilities& device) const;
  JudgedGraph trace(const Capabilities& device, std::int64_t n, StepPart part, std::int64_t parts);
  /// For a graph, whose times are as far as they are known.
  plan::PlanOptions plan_options(const plan::DeviceDescription& device,
                                 const graph::Graph& graph) const;

  /// Memory for the plan, with values in it; while fit() runs, the memory it runs in. What is there
  /// already and has all batches of `plan` is used as it is to evaluate, and to train where the
  /// plan's range is not to be had any more: a limit may have been lowered since.
  enum class Purpose : std::uint8_t { train, evaluate };
  TrainingMemory& memory_for(const TrainingPlan& plan, Purpose purpose = Purpose::train);
  /// What it holds on that device; null if nothing.
  const TrainingMemory* memory_on(const Device& device) const;

  /// Has `device` take the choices of options.choices.
  void prefer_choices_on(const Device& device);
  /// When the first step is prepared: says so if the file has nothing for it.
  void check_choices_on(const Device& device);

  /// Ready for a step by hand.
  StepRunner& stepping(const TrainingPlan& plan, const nn::Tensors& batch);
  /// Waits for a step that runs and remembers its loss; its executors go.
  void end_stepping();

  nn::Model model;
  optim::Optimizer optimizer;
  TrainerOptions options;
  std::optional<LossScale> loss_scale;
  std::vector<TensorType> inputs;  ///< of a batch of one; empty: the model tells
  std::vector<TensorType> targets;
  std::vector<std::size_t> components;        ///< of an element: of the inputs, then of the targets
  std::optional<PlannedFunction> prediction;  ///< for who has no plan
  std::vector<optim::State> average;          ///< empty: none
  std::vector<optim::State> gradients;        ///< sums over micro-batches, used if a plan splits
  plan::OpTimes times;                        ///< measured while it ran,
  std::string times_of;                       ///< on devices of that backend
  double copy_rate = 0;  ///< of copies to and from the host, as measured; 0: not yet
  std::unique_ptr<TrainingMemory> memory;
  std::unique_ptr<StepRunner> stepper;  ///< of Trainer::step, in `memory`
  std::optional<float> last_loss;       ///< of a stepper that has gone
  bool fitting = false;
  std::optional<ChoicesFile> choices;  ///< those of the file options.choices
  bool choices_unchecked = false;      ///< a device prefers them, and no step was prepared yet
};

/// The smallest divisor of `n` that is at least `least`.
std::int64_t divisor_from(std::int64_t n, std::int64_t least);

}  // namespace plimsoll::train
