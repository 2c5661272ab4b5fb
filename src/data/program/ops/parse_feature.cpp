// One feature of a serialized tf.train.Example.
#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/program/op.h"
#include "data/records/example.h"

namespace plimsoll::data::program_ops {
namespace {

TensorSpec spec_of(const ops::Attributes& attributes) {
  return {attributes.dtype("dtype"), attributes.integers("dims")};
}

std::vector<TensorSpec> parse_feature_specs(const SpecInputs& inputs) {
  inputs.require_one_text(0);
  const TensorSpec spec = spec_of(inputs.attributes());
  if (spec.dtype != DType::i64 && spec.dtype != DType::f32 && spec.dtype != DType::bytes) {
    inputs.fail("an Example has i64, f32 and bytes; cast what it gives");
  }
  if (!spec.dims->empty() && std::ranges::count(*spec.dims, kAnyExtent) > 0 &&
      (spec.dims->front() != kAnyExtent || std::ranges::count(*spec.dims, kAnyExtent) > 1)) {
    inputs.fail("only the first extent of a feature may differ");
  }
  return {spec};
}

template <typename T>
void give_numbers(ProgramCall& call, const StoredFeature& found, const Shape& shape) {
  if (shape.rank() == 0) {
    T only{};
    found.copy_to(&only);
    call.give(Value(only));
    return;
  }
  Tensor to = call.output(shape, dtype_of<T>);
  if (to.elements() > 0) found.copy_to(to.mutable_data<T>());
}

void give_missing(ProgramCall& call, const Feature& feature) {
  const ops::Attributes& attributes = call.attributes();
  const TensorSpec& spec = feature.spec;
  const bool free = !spec.dims->empty() && spec.dims->front() == kAnyExtent;
  const bool has = attributes.has("missing") || attributes.has("missing_text");
  if (!free && !has) {
    throw DataError(fmt::format("feature \"{}\" is missing; give a value for records without it",
                                printable(feature.name)));
  }
  const Shape shape = free ? feature_shape(feature, 0) : spec.shape();
  if (spec.dtype == DType::bytes) {
    const std::string_view text = has ? attributes.text("missing_text") : std::string_view();
    const std::vector<std::string_view> all(static_cast<std::size_t>(shape.elements()), text);
    call.give(Value(call.context().texts(all, shape)));
    return;
  }
  const double number = has ? attributes.number("missing") : 0;
  if (shape.rank() == 0) {
    call.give(spec.dtype == DType::f32 ? Value(static_cast<float>(number))
                                       : Value(static_cast<std::int64_t>(number)));
    return;
  }
  Tensor to = call.output(shape, spec.dtype);
  if (to.elements() == 0) return;
  if (spec.dtype == DType::f32) {
    std::fill_n(to.mutable_data<float>(), to.elements(), static_cast<float>(number));
  } else {
    std::fill_n(to.mutable_data<std::int64_t>(), to.elements(), static_cast<std::int64_t>(number));
  }
}

void run_parse_feature(ProgramCall& call) {
  const TensorSpec spec = spec_of(call.attributes());
  const Feature feature(call.attributes().text("name"), spec.dtype, *spec.dims);
  const StoredFeature found = find_feature(call.input(0).text(), feature.name);
  if (found.kind == StoredFeature::Kind::none) return give_missing(call, feature);
  if (found.kind != stored_kind(spec.dtype)) {
    throw DataError(fmt::format("feature \"{}\" has {}, and {} was asked for",
                                printable(feature.name), kind_name(found.kind), spec.to_string()));
  }
  const Shape shape = feature_shape(feature, found.count());
  if (spec.dtype == DType::f32) return give_numbers<float>(call, found, shape);
  if (spec.dtype == DType::i64) return give_numbers<std::int64_t>(call, found, shape);
  call.give(Value(call.context().texts(found.texts(), shape)));
}

}  // namespace

std::span<const ProgramOp> parse_feature() {
  static constexpr ProgramOp kOps[] = {
      {.name = "parse_feature",
       .summary = "one feature of a serialized tf.train.Example",
       .specs = parse_feature_specs,
       .run = run_parse_feature},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
