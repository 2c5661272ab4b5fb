// The steps of optimizers: one pass over a parameter, its state and its gradient, in place.
#include <array>

#include "ops/update_inputs.h"

namespace plimsoll::ops {
namespace {

/// Inputs: the parameter, `states` tensors like it, its gradient, `scalars` f32 scalars and, where
/// it is given, the bool scalar without which nothing is written.
std::vector<TensorType> update_types(const OpInputs& inputs, int states, int scalars) {
  require_states(inputs, states);
  const int gradient = states + 1;
  if (inputs.shape(gradient) != inputs.shape(0)) {
    inputs.fail("the gradient must have the parameter's shape");
  }
  require_gradient_dtype(inputs, gradient);
  require_scalars(inputs, gradient + 1, scalars);
  return std::vector<TensorType>(static_cast<std::size_t>(states) + 1, inputs[0]);
}
template <int States, int Scalars>
std::vector<TensorType> types_with(const OpInputs& inputs) {
  return update_types(inputs, States, Scalars);
}

template <int States, int FlopsEach>
Cost update_cost(const OpInputs& inputs, std::span<const TensorType>) {
  return {.flops = FlopsEach * static_cast<double>(inputs[0].elements()),
          .bytes = static_cast<double>(inputs[0].bytes()) * 2 * (States + 1) +
                   static_cast<double>(inputs[States + 1].bytes())};
}

template <int States, int Scalars, int FlopsEach>
constexpr OpDef update_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "update",
          .summary = summary,
          .inputs = 2 + States + Scalars,
          .optional_inputs = 1,
          .dtypes = kMasters,
          .types = types_with<States, Scalars>,
          .cost = update_cost<States, FlopsEach>,
          .writes = (2U << States) - 1,
          .precision = Precision::keep,
          .update = true};
}

constexpr OpDef kSgd = update_op<0, 1, 4>("sgd_update", "a step of gradient descent");
constexpr OpDef kSgdMomentum =
    update_op<1, 1, 6>("sgd_momentum_update", "a step of gradient descent with momentum");
constexpr OpDef kAdam = update_op<2, 2, 14>("adam_update", "a step of Adam or AdamW");
constexpr OpDef kLazyAdam = [] {
  OpDef def = update_op<2, 2, 14>("lazy_adam_update", "a step of Adam for rows with a gradient");
  def.types = [](const OpInputs& inputs) {
    if (inputs.shape(0).rank() == 0) inputs.fail("a scalar has no rows");
    if (inputs.attributes().number("weight_decay") != 0) {
      inputs.fail("rows without a gradient cannot decay: weight_decay must be 0");
    }
    return update_types(inputs, 2, 2);
  };
  return def;
}();
constexpr OpDef kAdagrad = update_op<1, 2, 9>("adagrad_update", "a step of Adagrad");
constexpr OpDef kRmsprop = update_op<1, 1, 9>("rmsprop_update", "a step of RMSprop");
constexpr OpDef kRmspropMomentum =
    update_op<2, 1, 11>("rmsprop_momentum_update", "a step of RMSprop with momentum");

constexpr std::array kOptimizerUpdateOps = {&kSgd,     &kSgdMomentum, &kAdam,           &kLazyAdam,
                                            &kAdagrad, &kRmsprop,     &kRmspropMomentum};

const RegisterOps kOptimizerUpdateRegistered(kOptimizerUpdateOps);

}  // namespace

void sgd_update(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient,
                const Tensor& rate, const SgdOptions& options, const Tensor& enable) {
  if (options.momentum == 0) {
    return run_update(kSgd, {parameter, gradient, rate, enable},
                      {{"weight_decay", options.weight_decay}});
  }
  run_update(kSgdMomentum, {parameter, velocity, gradient, rate, enable},
             {{"momentum", options.momentum},
              {"nesterov", options.nesterov},
              {"weight_decay", options.weight_decay}});
}

void adam_update(const Tensor& parameter, const Tensor& first, const Tensor& second,
                 const Tensor& gradient, const Tensor& rate, const Tensor& step,
                 const AdamOptions& options, const Tensor& enable) {
  run_update(kAdam, {parameter, first, second, gradient, rate, step, enable},
             attributes_of(options));
}

void lazy_adam_update(const Tensor& parameter, const Tensor& first, const Tensor& second,
                      const Tensor& gradient, const Tensor& rate, const Tensor& step,
                      const AdamOptions& options, const Tensor& enable) {
  run_update(kLazyAdam, {parameter, first, second, gradient, rate, step, enable},
             attributes_of(options));
}

void adagrad_update(const Tensor& parameter, const Tensor& sum, const Tensor& gradient,
                    const Tensor& rate, const Tensor& step, const AdagradOptions& options,
                    const Tensor& enable) {
  run_update(kAdagrad, {parameter, sum, gradient, rate, step, enable}, attributes_of(options));
}

void rmsprop_update(const Tensor& parameter, const Tensor& mean_square, const Tensor& velocity,
                    const Tensor& gradient, const Tensor& rate, const RmspropOptions& options,
                    const Tensor& enable) {
  Attributes attributes = {{"decay", options.decay},
                           {"epsilon", options.epsilon},
                           {"weight_decay", options.weight_decay}};
  if (options.momentum == 0) {
    return run_update(kRmsprop, {parameter, mean_square, gradient, rate, enable}, attributes);
  }
  attributes.set("momentum", options.momentum);
  run_update(kRmspropMomentum, {parameter, mean_square, velocity, gradient, rate, enable},
             attributes);
}

}  // namespace plimsoll::ops
