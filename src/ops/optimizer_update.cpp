// The steps of optimizers: one pass over a parameter, its state and its gradient, in place.
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::ops {
namespace {

constexpr DTypeSet kMasters = {DType::f64, DType::f32};

/// Inputs: the parameter, `states` tensors like it, its gradient, `scalars` f32 scalars and, where
/// it is given, the bool scalar without which nothing is written.
std::vector<TensorType> update_types(const OpInputs& inputs, int states, int scalars) {
  for (int i = 1; i <= states; ++i) {
    if (inputs[i] != inputs[0]) inputs.fail("the state must have the parameter's type");
  }
  const int gradient = states + 1;
  if (inputs.shape(gradient) != inputs.shape(0)) {
    inputs.fail("the gradient must have the parameter's shape");
  }
  const bool wide = inputs.dtype(0) == DType::f64;
  if (!is_floating(inputs.dtype(gradient)) || wide != (inputs.dtype(gradient) == DType::f64)) {
    inputs.fail(wide ? "the gradient of an f64 parameter must be f64"
                     : "the gradient of an f32 parameter must be f32, f16 or bf16");
  }
  const int enable = gradient + 1 + scalars;
  for (int i = gradient + 1; i < enable; ++i) {
    if (inputs.shape(i).rank() != 0 || inputs.dtype(i) != DType::f32) {
      inputs.fail("the rate and the step must be f32 scalars");
    }
  }
  if (inputs.count() > enable && inputs[enable] != TensorType{DType::boolean, {}}) {
    inputs.fail("what enables the step must be a bool scalar");
  }
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
constexpr OpDef kRmsprop = update_op<1, 1, 9>("rmsprop_update", "a step of RMSprop");
constexpr OpDef kRmspropMomentum =
    update_op<2, 1, 11>("rmsprop_momentum_update", "a step of RMSprop with momentum");

constexpr std::array kOptimizerUpdateOps = {&kSgd, &kSgdMomentum, &kAdam, &kRmsprop,
                                            &kRmspropMomentum};

void run_update(const OpDef& def, std::initializer_list<Tensor> inputs,
                const Attributes& attributes) {
  call(def, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

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
             {{"beta1", options.beta1},
              {"beta2", options.beta2},
              {"epsilon", options.epsilon},
              {"weight_decay", options.weight_decay},
              {"decoupled", options.decoupled}});
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
