// A dimension of extent 1 put in.
#include <cstring>

#include <fmt/format.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> expand_dims_specs(const SpecInputs& inputs) {
  TensorSpec spec = inputs[0];
  if (spec.dtype == DType::bytes) inputs.fail("does not work on byte strings");
  if (!spec.dims) return {spec};
  const std::int64_t axis = inputs.attributes().integer("axis");
  const auto rank = static_cast<std::int64_t>(spec.dims->size());
  if (axis < 0 || axis > rank || rank >= kMaxRank) {
    inputs.fail(fmt::format("cannot have a new dimension {}", axis));
  }
  spec.dims->insert(spec.dims->begin() + axis, 1);
  return {spec};
}

void run_expand_dims(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  const Shape shape =
      from.shape().with_inserted(static_cast<int>(call.attributes().integer("axis")), 1);
  if (from.value() != nullptr && !from.value()->is_scalar()) {
    call.give(Value(from.value()->tensor().reshape(shape)));
    return;
  }
  Tensor to = call.output(shape, from.dtype());
  if (to.nbytes() > 0) std::memcpy(to.raw_mutable_data(), from.data(), to.nbytes());
}

}  // namespace

std::span<const ProgramOp> expand_dims() {
  static constexpr ProgramOp kOps[] = {
      {.name = "expand_dims",
       .summary = "a dimension of extent 1 put in",
       .view = true,
       .specs = expand_dims_specs,
       .run = run_expand_dims},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
