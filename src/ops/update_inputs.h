#pragma once

#include <initializer_list>
#include <span>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/update.h>

// What the rules of optimizers' steps have in common.

namespace plimsoll::ops {

inline constexpr DTypeSet kMasters = {DType::f64, DType::f32};

inline void require_states(const OpInputs& inputs, int states) {
  for (int i = 1; i <= states; ++i) {
    if (inputs[i] != inputs[0]) inputs.fail("the state must have the parameter's type");
  }
}

inline void require_gradient_dtype(const OpInputs& inputs, int gradient) {
  const bool wide = inputs.dtype(0) == DType::f64;
  if (!is_floating(inputs.dtype(gradient)) || wide != (inputs.dtype(gradient) == DType::f64)) {
    inputs.fail(wide ? "the gradient of an f64 parameter must be f64"
                     : "the gradient of an f32 parameter must be f32, f16 or bf16");
  }
}

/// `scalars` f32 scalars from `first` on and, where it is given, the bool scalar behind them.
inline void require_scalars(const OpInputs& inputs, int first, int scalars) {
  const int enable = first + scalars;
  for (int i = first; i < enable; ++i) {
    if (inputs.shape(i).rank() != 0 || inputs.dtype(i) != DType::f32) {
      inputs.fail("the rate and the step must be f32 scalars");
    }
  }
  if (inputs.count() > enable && inputs[enable] != TensorType{DType::boolean, {}}) {
    inputs.fail("what enables the step must be a bool scalar");
  }
}

inline Attributes attributes_of(const AdamOptions& options) {
  return {{"beta1", options.beta1},
          {"beta2", options.beta2},
          {"epsilon", options.epsilon},
          {"weight_decay", options.weight_decay},
          {"decoupled", options.decoupled}};
}

inline Attributes attributes_of(const AdagradOptions& options) {
  return {{"lr_decay", options.lr_decay},
          {"epsilon", options.epsilon},
          {"weight_decay", options.weight_decay}};
}

inline void run_update(const OpDef& def, std::initializer_list<Tensor> inputs,
                       const Attributes& attributes) {
  call(def, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

}  // namespace plimsoll::ops
