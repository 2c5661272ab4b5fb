// More about a value's shape than ops can know, checked when an element arrives.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> ensure_shape_specs(const SpecInputs& inputs) {
  const TensorSpec wanted{inputs[0].dtype, inputs.attributes().integers("dims")};
  const auto& has = inputs[0].dims;
  if (!has) return {wanted};
  if (has->size() != wanted.dims->size()) inputs.fail("has another rank than was said");
  TensorSpec result = wanted;
  for (std::size_t i = 0; i < has->size(); ++i) {
    std::int64_t& extent = (*result.dims)[i];
    if (extent == kAnyExtent) {
      extent = (*has)[i];
    } else if ((*has)[i] != kAnyExtent && (*has)[i] != extent) {
      inputs.fail("has other extents than were said");
    }
  }
  return {result};
}

void run_ensure_shape(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  const std::vector<std::int64_t>& wanted = call.attributes().integers("dims");
  const Shape& shape = from.shape();
  const bool fits = static_cast<std::size_t>(shape.rank()) == wanted.size() &&
                    std::equal(shape.begin(), shape.end(), wanted.begin(),
                               [](auto has, auto may) { return may == kAnyExtent || may == has; });
  if (!fits) {
    throw DataError(fmt::format("[ensure_shape] a value of shape {} came where [{}] was said",
                                shape.to_string(), fmt::join(wanted, ",")));
  }
  if (from.value() != nullptr) {
    call.give(*from.value());
    return;
  }
  throw DataError("[ensure_shape] of a constant");
}

}  // namespace

std::span<const ProgramOp> ensure_shape() {
  static constexpr ProgramOp kOps[] = {
      {.name = "ensure_shape",
       .summary = "the same value, whose shape is known",
       .view = true,
       .specs = ensure_shape_specs,
       .run = run_ensure_shape},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
