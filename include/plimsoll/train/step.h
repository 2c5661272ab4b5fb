#pragma once

#include <functional>

#include <plimsoll/nn/model.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/precision.h>

namespace plimsoll::train {

struct StepOptions {
  DType compute = DType::f32;
  bool tf32 = false;                ///< with f32: as Precision::tf32
  LossScale* loss_scale = nullptr;  ///< null: none
};

/// One step of training, the same eagerly and traced: the loss, its gradients by the parameters the
/// optimizer has, and the update. Returns the loss, an f32 scalar. Eagerly,
/// Optimizer::begin_step() comes before it.
///
///   optimizer.begin_step();
///   Tensor loss = train::training_step(model, optimizer, images, labels);
Tensor training_step(const nn::Module& model, optim::Optimizer& optimizer, const Tensor& input,
                     const Tensor& target, const StepOptions& options = {});
/// The same for a loss that the caller computes.
Tensor training_step(const std::function<Tensor()>& loss, optim::Optimizer& optimizer,
                     const StepOptions& options = {});

}  // namespace plimsoll::train
