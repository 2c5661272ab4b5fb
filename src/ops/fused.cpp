#include <plimsoll/ops/fused.h>

#include <algorithm>
#include <array>

namespace plimsoll::ops {
namespace {

using Group = std::span<const FusedCall>;

bool is(const FusedCall& call, std::string_view name) { return call.op.name == name; }

/// Rows of x that kernels hold while they work on them.
bool has_short_rows(const TensorType& x) {
  if (!is_floating(x.dtype) || x.dtype == DType::f64 || x.elements() == 0) return false;
  const std::int64_t features = x.shape.dim(-1);
  const auto vector = static_cast<std::int64_t>(16 / dtype_size(x.dtype));
  return features <= 8192 && features % vector == 0;
}

/// An add that does not broadcast.
bool is_plain_add(const FusedCall& call) {
  return is(call, "add") && call.inputs[0] == call.inputs[1] &&
         call.inputs[0].dtype == call.outputs[0].dtype && call.outputs[0].elements() != 0;
}

/// Perhaps under another shape.
bool same_size(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.elements() == b.elements();
}

bool joins_add_norm(Group group, const FusedCall& call) {
  if (group.empty()) return is_plain_add(call);
  if (!is(call, "layer_norm") && !is(call, "rms_norm")) return false;
  return call.chained == 0 && same_size(group[0].outputs[0], call.inputs[0]) &&
         has_short_rows(call.inputs[0]);
}

bool joins_norm_grad_add(Group group, const FusedCall& call) {
  if (group.empty()) {
    return (is(call, "layer_norm_grad") || is(call, "rms_norm_grad")) &&
           has_short_rows(call.inputs[0]);
  }
  return is_plain_add(call) && call.chained >= 0 && same_size(group[0].outputs[0], call.inputs[0]);
}

constexpr std::array<std::string_view, 6> kUpdates = {"sgd_update",     "sgd_momentum_update",
                                                      "adam_update",    "adagrad_update",
                                                      "rmsprop_update", "rmsprop_momentum_update"};

bool joins_updates(Group group, const FusedCall& call) {
  if (std::ranges::find(kUpdates, call.op.name) == kUpdates.end()) return false;
  if (call.inputs[0].elements() == 0 || call.inputs[0].elements() > kSmallTensor) return false;
  return group.empty() || (&group[0].op == &call.op && group[0].attributes == call.attributes &&
                           group[0].inputs[0].dtype == call.inputs[0].dtype);
}

bool joins_casts(Group group, const FusedCall& call) {
  if (!is(call, "cast") || call.inputs[0].dtype != DType::f32) return false;
  const DType to = call.outputs[0].dtype;
  if (to != DType::f16 && to != DType::bf16) return false;
  if (call.inputs[0].elements() == 0 || call.inputs[0].elements() > kSmallTensor) return false;
  return group.empty() || group[0].outputs[0].dtype == to;
}

constexpr std::array kPatterns = {
    FusedPattern{.name = "add, norm", .chain = true, .joins = joins_add_norm},
    FusedPattern{.name = "norm_grad, add", .chain = true, .joins = joins_norm_grad_add},
    FusedPattern{.name = "updates", .joins = joins_updates},
    FusedPattern{.name = "casts", .joins = joins_casts},
};

}  // namespace

std::span<const FusedPattern> fused_patterns() { return kPatterns; }

const FusedPattern* find_fused(std::string_view name) {
  const auto* const it = std::ranges::find(kPatterns, name, &FusedPattern::name);
  return it == kPatterns.end() ? nullptr : it;
}

}  // namespace plimsoll::ops
