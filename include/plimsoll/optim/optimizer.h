#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/owned.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/optim/schedule.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::optim {

/// What an optimizer may do otherwise for some of the parameters.
struct Group {
  std::string name;
  /// Which parameters belong to it; each goes to the first group that takes it.
  std::function<bool(const nn::Parameter& parameter)> takes;
  double rate_factor = 1;          ///< times the learning rate
  double weight_decay_factor = 1;  ///< times the weight decay
};

/// No weight decay for biases, norms' scales and whatever else has one dimension or none.
Group no_decay_for_vectors();

/// What an optimizer keeps: "momentum of layer1.0.conv1.weight".
struct State {
  std::string name;  ///< "momentum.layer1.0.conv1.weight"
  Tensor tensor;     ///< without data until materialize()
};

/// One update of one parameter, by an op of ops/update.h.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::string_view name() const = 0;
  /// What it keeps for each parameter: "momentum"; f32 and of the parameter's shape.
  virtual std::vector<std::string_view> state_names() const = 0;
  struct Update {
    const Tensor& parameter;
    std::span<const Tensor> state;  ///< one for each of state_names()
    const Tensor& gradient;
    const Tensor& rate;  ///< f32 scalar
    const Tensor& step;  ///< f32 scalar, from 1 on
    double weight_decay_factor;
    const Tensor& enable;  ///< undefined, or a bool scalar: nothing is written where it is false
  };
  virtual void apply(const Update& update) const = 0;
};

/// Changes a module's parameters by their gradients.
///
///   auto optimizer = optim::sgd({.lr = 0.1, .momentum = 0.9});
///   optimizer.attach(model);        // declares its state: planning takes no memory
///   optimizer.materialize(device);  // all of it, before any parameter is written
///   ...
///   optimizer.begin_step();
///   optimizer.apply(gradients);     // of model.trainable_parameters(), in that order
///
/// The learning rate and the count of steps are f32 scalars of its state, so that one trace of
/// apply() serves all steps: begin_step() writes the rate from the host, apply() counts. Movable;
/// not thread-safe.
class Optimizer {
 public:
  Optimizer(std::unique_ptr<const Rule> rule, Schedule rate, std::vector<Group> groups = {});

  std::string_view name() const { return rule_->name(); }
  const Schedule& schedule() const { return schedule_; }

  /// Takes charge of the trainable parameters of `module`, which must outlive it. InvalidArgument
  /// if it has one already, or if there is nothing to train.
  void attach(const nn::Module& module);
  /// Those, in order.
  const std::vector<const nn::Parameter*>& parameters() const { return parameters_; }

  /// Everything that persists: the rate, the step, and the rule's.
  const std::vector<State>& state() const { return state_; }
  std::vector<State>& state() {
    written_to_ = nullptr;
    return state_;
  }
  Bytes state_bytes() const;

  /// Allocates all state that has no data, zeroed, tagged `optimizer`. Throws OutOfMemory and is
  /// then as before.
  void materialize(const Device& device);
  void release();

  /// Steps begun so far. set_step() is for going on from a checkpoint.
  std::int64_t step() const { return host_step_; }
  void set_step(std::int64_t step) {
    host_step_ = step;
    written_to_ = nullptr;
  }
  /// The learning rate of the step that comes next.
  double rate() const { return schedule_.at(host_step_); }

  /// Writes the learning rate of the next step for apply() to read, unless it is there already, and
  /// counts the step. It is written in the order of `stream`, on which steps run: one that is
  /// running reads its own.
  void begin_step(StreamId stream = kHostStream);
  /// Whether begin_step() would write.
  bool rate_changes() const;

  /// Writes state and parameters. Undefined gradients leave their parameter as it is. With
  /// `enable`, a bool scalar, nothing at all is written where it is false. Throws InvalidArgument
  /// for gradients of other shapes before anything is written.
  void apply(std::span<const Tensor> gradients, const Tensor& enable = {});

  /// begin_step() and apply().
  void update(std::span<const Tensor> gradients) {
    begin_step();
    apply(gradients);
  }

 private:
  void check(std::span<const Tensor> gradients) const;
  const Group* group_of(const nn::Parameter& parameter) const;

  Owned<const Rule> rule_;
  Schedule schedule_;
  std::vector<Group> groups_;
  std::vector<const nn::Parameter*> parameters_;
  std::vector<State> state_;  ///< rate, step, then those of each parameter in turn
  std::int64_t host_step_ = 0;
  float written_rate_ = -1;
  const void* written_to_ = nullptr;  ///< where it was written; elsewhere it must be written again
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
