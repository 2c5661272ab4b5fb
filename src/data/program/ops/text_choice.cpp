// One of several byte strings, and whether strings are equal.
#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/texts.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> at_specs(const SpecInputs& inputs) {
  inputs.require_bytes(0);
  const auto& dims = inputs[0].dims;
  if (!dims || dims->size() != 1) inputs.fail("takes strings in one dimension");
  return {TensorSpec::scalar(DType::bytes)};
}

void at(ProgramCall& call) {
  const std::int64_t count = call.input(0).elements();
  const std::int64_t given = call.attributes().integer("index");
  const std::int64_t index = given < 0 ? given + count : given;
  if (index < 0 || index >= count) {
    throw DataError(fmt::format("[text_at] there is no string {} among {}", given, count));
  }
  call.give(call.context().text(call.input(0).text(index)));
}

std::vector<TensorSpec> equal_specs(const SpecInputs& inputs) {
  inputs.require_bytes(0);
  inputs.require_bytes(1);
  const auto& a = inputs[0].dims;
  const auto& b = inputs[1].dims;
  if (a && b && a->empty()) return {{DType::boolean, b}};
  if (a && b && (b->empty() || *a == *b)) return {{DType::boolean, a}};
  inputs.fail("takes one string and several, or strings of one shape");
}

void equal(ProgramCall& call) {
  const ProgramInput& a = call.input(0);
  const ProgramInput& b = call.input(1);
  const ProgramInput& larger = a.shape().rank() == 0 ? b : a;
  const auto same = [&](std::int64_t i) {
    return a.text(a.shape().rank() == 0 ? 0 : i) == b.text(b.shape().rank() == 0 ? 0 : i);
  };
  if (larger.shape().rank() == 0) {
    call.give(Value(same(0)));
    return;
  }
  if (a.shape().rank() != 0 && b.shape().rank() != 0 && a.shape() != b.shape()) {
    throw DataError(fmt::format("[text_equal] strings of shapes {} and {}", a.shape().to_string(),
                                b.shape().to_string()));
  }
  Tensor to = call.output(larger.shape(), DType::boolean);
  auto* const out = to.mutable_data<bool>();
  for (std::int64_t i = 0; i < larger.elements(); ++i) out[i] = same(i);
}

}  // namespace

std::span<const ProgramOp> text_choice() {
  static constexpr ProgramOp kOps[] = {
      {.name = "text_at", .summary = "one of several strings", .specs = at_specs, .run = at},
      {.name = "text_equal",
       .summary = "whether strings are equal",
       .inputs = 2,
       .specs = equal_specs,
       .run = equal},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
