#include <plimsoll/train/step.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/tf32.h>

namespace plimsoll::train {

Tensor training_step(const std::function<Tensor()>& loss, optim::Optimizer& optimizer,
                     const StepOptions& options) {
  std::vector<Tensor> parameters;
  for (const Variable& p : optimizer.parameters()) parameters.push_back(p.tensor());

  ops::GradientTape tape;
  tape.watch(parameters);
  Tensor value;
  Tensor target;
  {
    const ops::PrecisionScope precision(options.compute);
    const ops::Tf32Scope tf32(options.tf32);
    value = loss();
    target = options.loss_scale != nullptr ? options.loss_scale->scaled(value) : value;
  }
  std::vector<Tensor> gradients = tape.gradient(target, parameters);
  if (options.loss_scale == nullptr) {
    optimizer.apply(gradients);
    return value;
  }
  LossScale::Result result = options.loss_scale->update(gradients);
  gradients.clear();
  optimizer.apply(result.gradients, result.finite);
  return value;
}

Tensor training_step(const nn::Module& model, optim::Optimizer& optimizer, const Tensor& input,
                     const Tensor& target, const StepOptions& options) {
  return training_step([&] { return model.loss(input, target); }, optimizer, options);
}

}  // namespace plimsoll::train
