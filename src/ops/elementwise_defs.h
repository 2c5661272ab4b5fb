#pragma once

#include <algorithm>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

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

/// The name of an op, known when it is compiled.
template <std::size_t N>
struct OpName {
  constexpr OpName(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: as a literal
  char text[N] = {};
};

/// Second derivatives: those of dy * f'(v), an op of dy and v. By dy they are the op again; by v
/// nothing where f'' is 0 wherever it is defined.
template <OpName Name>
void second(GradientContext& g) {
  static const OpDef& self = *find_op(Name.text);
  if (g.needs(0)) g.set(0, call_one(self, {g.grad(), g.input(1)}, g.attributes()));
}
/// Else By(dy * gradient, v), which is that times f''(v).
using Slope = Tensor (*)(const Tensor& product, const Tensor& v);
template <OpName Name, Slope By>
void second(GradientContext& g) {
  second<Name>(g);
  if (g.needs(1)) g.set(1, By(mul(g.grad(), g.input(0)), g.input(1)));
}
inline Kept keeps_for_second(std::uint32_t needed) {
  return {.inputs = (needed & 2U) != 0 ? 3U : 2U};
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
/// The same where second derivatives exist.
constexpr OpDef unary_grad_op(std::string_view name, std::string_view summary,
                              GradientRule gradient) {
  OpDef def = unary_grad_op(name, summary);
  def.gradient = gradient;
  def.kept = keeps_for_second;
  return def;
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
