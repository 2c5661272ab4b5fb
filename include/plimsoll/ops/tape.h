#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <plimsoll/ops/variable.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

struct TapeOptions {
  /// gradient() may be called more than once; what is kept goes with the tape.
  bool persistent = false;
};

/// Variables with the gradients of a loss by them, for Optimizer::apply.
struct Gradients {
  std::vector<Variable> variables;
  std::vector<Tensor> tensors;  ///< one for each; undefined where the loss does not depend on it

  /// That of one of them; undefined if there is none.
  Tensor of(const Variable& variable) const;
};

/// What has variables that are trained: a module.
template <typename M>
concept HasVariables = requires(const M& module) {
  { module.trainable_variables() } -> std::convertible_to<std::vector<Variable>>;
};

/// Records the ops of this thread, from its construction to its destruction or stop(), so that
/// gradients can be taken. It stands on the dispatcher in force: over eager execution it computes
/// gradients at once; within a trace the backward pass becomes part of the trace.
///
/// Trainable variables are followed when they are read, other tensors when they are watched. Only
/// ops that lead from those are recorded, and of those only what their gradients read is kept.
/// Tapes nest; each records on its own, gradients of inner ones included.
///
///   pm::GradientTape tape;
///   pm::Tensor loss = pm::nn::mean_squared_error(net(x), y);
///   optimizer.apply(tape.gradient(loss, net));   // or tape.gradient(loss, {w, b}), of variables
class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;
  ~GradientTape();

  /// Follow `tensor`, a plain one and not a Variable. InvalidArgument if it is not floating.
  void watch(const Tensor& tensor);
  void watch(std::span<const Tensor> tensors);

  /// Ends recording. Idempotent.
  void stop();

  /// The derivative of `target`, summed over its elements unless `seed` (of its type) weighs them,
  /// by each source; undefined where the target does not depend on it. Ends recording on a tape
  /// that is not persistent, and lets go of what it kept while it walks back. Throws
  /// InvalidArgument naming the op if one on the way has no gradient, or if the tape was used up.
  std::vector<Tensor> gradient(const Tensor& target, std::span<const Tensor> sources,
                               const Tensor& seed = {});
  /// The same of several targets, each weighed by its seed: the sum of what they give.
  std::vector<Tensor> gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                               std::span<const Tensor> seeds);
  Tensor gradient(const Tensor& target, const Tensor& source);
  Tensor gradient(const Tensor& target, const Variable& source);
  /// The same by variables, or by those of a module that are trained.
  Gradients gradient(const Tensor& target, std::span<const Variable> variables);
  Gradients gradient(const Tensor& target, std::initializer_list<Variable> variables) {
    return gradient(target, std::span<const Variable>(variables.begin(), variables.size()));
  }
  template <HasVariables M>
  Gradients gradient(const Tensor& target, const M& module) {
    const std::vector<Variable> variables = module.trainable_variables();
    return gradient(target, std::span<const Variable>(variables));
  }

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::ops
