#pragma once

#include <span>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

// The only ops that write. What they write into is a parameter, a buffer or a piece of an
// optimizer's state; whoever reads it afterwards sees the new value. Each returns what it wrote.

/// Writes `value` into `target`, which has the same type.
Tensor assign(const Tensor& target, const Tensor& value);

/// target = keep * target + share * value, each of the three rounded: a moving average in one pass.
/// Both have the same type, f32 or f64.
Tensor move_towards(const Tensor& target, const Tensor& value, double keep, double share);

/// Hyperparameters that change from step to step come as f32 scalars, so that a trace serves all
/// steps: `rate` is the learning rate. `gradient` may be 16-bit; parameters and state are f32 (or
/// all f64). With `enable`, a bool scalar, nothing is written where it is false: a step with
/// gradients that are not finite is left out without the host having to know.

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< added to the gradient
};
/// velocity = momentum * velocity + gradient; parameter -= rate * velocity (Nesterov: gradient +
/// momentum * velocity in its place). velocity is undefined without momentum.
void sgd_update(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient,
                const Tensor& rate, const SgdOptions& options, const Tensor& enable = {});

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  ///< AdamW: decay shrinks the parameter itself
};
/// `step` counts from 1, an f32 scalar. epsilon is added to the root of the corrected second
/// moment.
void adam_update(const Tensor& parameter, const Tensor& first, const Tensor& second,
                 const Tensor& gradient, const Tensor& rate, const Tensor& step,
                 const AdamOptions& options, const Tensor& enable = {});
/// adam_update() of the rows of a matrix (slices of the first dimension) that have a gradient: a
/// row in which it is 0 everywhere keeps its parameters and moments. No weight decay.
void lazy_adam_update(const Tensor& parameter, const Tensor& first, const Tensor& second,
                      const Tensor& gradient, const Tensor& rate, const Tensor& step,
                      const AdamOptions& options, const Tensor& enable = {});

struct AdagradOptions {
  double lr_decay = 0;  ///< the rate is divided by 1 + lr_decay * (step - 1)
  double epsilon = 1e-10;
  double weight_decay = 0;
};
/// sum += gradient^2; parameter -= rate * gradient / (sqrt(sum) + epsilon). `step` counts from 1.
void adagrad_update(const Tensor& parameter, const Tensor& sum, const Tensor& gradient,
                    const Tensor& rate, const Tensor& step, const AdagradOptions& options,
                    const Tensor& enable = {});

struct RmspropOptions {
  double decay = 0.9;
  double epsilon = 1e-7;
  double momentum = 0;
  double weight_decay = 0;
};
/// parameter -= rate * gradient / sqrt(mean_square + epsilon), or with momentum a velocity that
/// gathers those steps. velocity is undefined without momentum.
void rmsprop_update(const Tensor& parameter, const Tensor& mean_square, const Tensor& velocity,
                    const Tensor& gradient, const Tensor& rate, const RmspropOptions& options,
                    const Tensor& enable = {});

}  // namespace plimsoll::ops
