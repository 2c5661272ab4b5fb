#pragma once

#include <plimsoll/ops/dispatcher.h>

#include "ops/broadcast.h"
#include "ops/in_place.h"

// What elementwise definitions have in common.

namespace plimsoll::ops {

using GradientRule = void (*)(GradientContext&);
using KeptRule = Kept (*)(std::uint32_t needed);

inline Kept keeps_input(std::uint32_t) { return {.inputs = 1}; }
inline Kept keeps_output(std::uint32_t) { return {.outputs = 1}; }

/// Gradients by an op of dy and the input, or of dy and the output, with the attributes of the op.
template <const OpDef& Grad>
void from_input(GradientContext& g) {
  g.set(0, call_one(Grad, {g.grad(), g.input(0)}, g.attributes()));
}
template <const OpDef& Grad>
void from_output(GradientContext& g) {
  g.set(0, call_one(Grad, {g.grad(), g.output(0)}, g.attributes()));
}

/// y = f(x), of x's type; may be written over x.
constexpr OpDef unary_op(std::string_view name, std::string_view summary, GradientRule gradient,
                         KeptRule kept, DTypeSet dtypes = kFloats,
                         Precision precision = Precision::follow) {
  return {.name = name,
          .family = "elementwise",
          .summary = summary,
          .dtypes = dtypes,
          .types = same_type,
          .gradient = gradient,
          .kept = kept,
          .in_place = kOverFirst,
          .cheap = true,
          .precision = precision,
          .channels = {.rule = ChannelRule::pointwise}};
}

/// The gradient of a unary op from dy and what was kept, all of one type; over either of them.
constexpr OpDef unary_grad_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "elementwise",
          .summary = summary,
          .inputs = 2,
          .types = all_same_type,
          .in_place = kOverEither,
          .cheap = true,
          .precision = Precision::keep,
          .channels = {.rule = ChannelRule::pointwise}};
}

/// dy and two more, which broadcast to it.
constexpr OpDef binary_grad_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "elementwise",
          .summary = summary,
          .inputs = 3,
          .types = like_first_types,
          .in_place = kOverFirst,
          .cheap = true,
          .precision = Precision::keep,
          .channels = {.rule = ChannelRule::pointwise}};
}

/// Gives input `input` the sum of `gradient` over what was broadcast.
void give_broadcast(GradientContext& g, int input, const Tensor& gradient);

}  // namespace plimsoll::ops
