#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/variable.h>
#include <plimsoll/optim/schedule.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::optim {

/// What an optimizer may do otherwise for some of the parameters.
struct Group {
  std::string name;
  /// Which parameters belong to it; each goes to the first group that takes it.
  std::function<bool(const Variable& variable)> takes;
  double rate_factor = 1;          ///< times the learning rate
  double weight_decay_factor = 1;  ///< times the weight decay
};

/// No weight decay for biases, norms' scales and whatever else has one dimension or none.
Group no_decay_for_vectors();

/// A piece of what an optimizer keeps: "momentum.layer1.0.conv1.weight". Declared by the optimizer,
/// and without data until its first step or materialize().
using State = Variable;

/// One update of one parameter: by an op of ops/update.h, or written in ops.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::string_view name() const = 0;
  /// What a rule keeps for a parameter: "momentum", which begins with `initial` everywhere.
  struct Kept {
    std::string_view name;
    TensorType type;
    double initial = 0;
  };
  /// Of a parameter of this type.
  virtual std::vector<Kept> state_of(const TensorType& parameter) const = 0;
  struct Update {
    const Tensor& parameter;
    std::span<const Tensor> state;  ///< one for each of state_of()
    const Tensor& gradient;
    const Tensor& rate;  ///< f32 scalar
    const Tensor& step;  ///< f32 scalar, from 1 on
    double weight_decay_factor;
    const Tensor& enable;  ///< undefined, or a bool scalar: nothing is written where it is false
  };
  virtual void apply(const Update& update) const = 0;
};

/// Changes variables by their gradients.
///
///   auto optimizer = pm::optim::sgd({.lr = 0.1, .momentum = 0.9});
///   pm::GradientTape tape;
///   pm::Tensor loss = pm::nn::cross_entropy(net(x), labels);
///   optimizer.apply(tape.gradient(loss, net));
///
/// A shared handle: copies are the same optimizer with the same state. The learning rate and the
/// count of steps are f32 scalars of its state, so that one trace serves all steps: the host writes
/// the rate before each, the step itself counts. Not thread-safe.
class Optimizer {
 public:
  Optimizer(std::unique_ptr<const Rule> rule, Schedule rate, std::vector<Group> groups = {});
  Optimizer(const Optimizer&) = default;  // moving copies
  Optimizer& operator=(const Optimizer&) = default;

  std::string_view name() const;
  const Schedule& schedule() const;

  /// One step: takes charge of variables that it does not have yet, allocates the state it lacks,
  /// all of it before anything is written, and updates. Undefined gradients leave their variable as
  /// it is; with `enable`, a bool scalar, nothing at all is written where it is false. Throws
  /// InvalidArgument for gradients of other shapes and OutOfMemory, and has then changed nothing.
  ///
  /// Within a trace the update becomes part of the trace; the rate is written before each run.
  void apply(const ops::Gradients& gradients, const Tensor& enable = {});

  // For those who plan: state is declared before it takes memory.

  /// Takes charge of `variables`, or of those of a module that are trained. InvalidArgument if it
  /// has some already, or if there is nothing to train.
  void attach(std::span<const Variable> variables);
  template <ops::HasVariables M>
  void attach(const M& module) {
    const std::vector<Variable> variables = module.trainable_variables();
    attach(std::span<const Variable>(variables));
  }
  /// Those, in order.
  const std::vector<Variable>& parameters() const;

  /// Everything that persists: the rate, the step, and the rule's.
  const std::vector<State>& state() const;
  Bytes state_bytes() const;

  /// Allocates all state that has no data, zeroed, tagged `optimizer`. Throws OutOfMemory and is
  /// then as before.
  void materialize(const Device& device);
  void release();

  /// Steps begun so far. set_step() is for going on from a checkpoint.
  std::int64_t step() const;
  void set_step(std::int64_t step);
  /// The learning rate of the step that comes next.
  double rate() const;
  /// Multiplies the schedule's rate in all steps to come; 1 at first. For callbacks that lower it
  /// by what they see. Checkpoints store it. InvalidArgument unless it is finite and not negative.
  void set_rate_factor(double factor);
  double rate_factor() const;

  /// Writes the learning rate of the next step for apply() to read, unless it is there already, and
  /// counts the step. It is written in the order of `stream`, on which steps run: one that is
  /// running reads its own.
  void begin_step(StreamId stream = kHostStream);
  /// Whether begin_step() would write.
  bool rate_changes() const;
  /// The part of a step that begin_step() begins: writes state and variables. `gradients` has one
  /// for each of parameters(). Throws InvalidArgument for gradients of other shapes before anything
  /// is written.
  void apply(std::span<const Tensor> gradients, const Tensor& enable = {});
  /// begin_step() and apply().
  void update(std::span<const Tensor> gradients);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Makes all state of `optimizer` persistent values of the trace.
void bind(graph::Tracer& tracer, const Optimizer& optimizer);

struct SgdOptions {
  Schedule lr = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< added to the gradient
  std::vector<Group> groups = {};
};
Optimizer sgd(const SgdOptions& options = {});

struct AdamOptions {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< of adam added to the gradient, of adamw apart from it
  std::vector<Group> groups = {};
};
/// Kingma and Ba 2014.
Optimizer adam(const AdamOptions& options = {});
/// Loshchilov and Hutter 2017.
Optimizer adamw(const AdamOptions& options = {.weight_decay = 0.01});

struct RmspropOptions {
  Schedule lr = 0.001;
  double decay = 0.9;
  double epsilon = 1e-7;
  double momentum = 0;
  double weight_decay = 0;
  std::vector<Group> groups = {};
};
Optimizer rmsprop(const RmspropOptions& options = {});

}  // namespace plimsoll::optim
