#include "data/records/record_format.h"

#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

/// Elements of all dimensions but a free first one.
std::int64_t row_elements(const TensorSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t extent : *spec.dims) count *= extent == kAnyExtent ? 1 : extent;
  return count;
}

bool is_free(const TensorSpec& spec) { return !spec.dims->empty() && spec.dims->front() < 0; }

}  // namespace

ElementSpec features_spec(const Features& features, const char* kind) {
  ElementSpec spec;
  for (const Feature& feature : features) {
    if (!feature.spec.dims) {
      throw InvalidArgument(fmt::format(
          "[{}] feature \"{}\" has no rank; give extents, and leave the first open if it varies",
          kind, printable(feature.name)));
    }
    std::int64_t total = 1;
    for (std::size_t d = 0; d < feature.spec.dims->size(); ++d) {
      const std::int64_t extent = (*feature.spec.dims)[d];
      const bool wrong = extent < 0 && (extent != kAnyExtent || d > 0);
      if (wrong || __builtin_mul_overflow(total, extent < 0 ? 1 : extent, &total)) {
        throw InvalidArgument(fmt::format(
            "[{}] feature \"{}\" is {}; extents are 0 or more, and only the first may vary", kind,
            printable(feature.name), feature.spec.to_string()));
      }
    }
    if (feature.missing &&
        (feature.missing->shape().rank() != 0 || feature.missing->dtype() != feature.spec.dtype)) {
      throw InvalidArgument(
          fmt::format("[{}] feature \"{}\" is {}, and what stands for a missing one is {}", kind,
                      printable(feature.name), feature.spec.to_string(),
                      TensorSpec::of(*feature.missing).to_string()));
    }
    for (const std::string& name : spec.names) {
      if (name == feature.name) {
        throw InvalidArgument(
            fmt::format("[{}] feature \"{}\" is there twice", kind, printable(name)));
      }
    }
    spec.components.push_back(feature.spec);
    spec.names.push_back(feature.name);
  }
  return spec;
}

std::string features_text(const Features& features) {
  std::string text;
  for (const Feature& feature : features) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(feature.name),
                        feature.spec.to_string());
    if (feature.missing) text += " or " + Element{*feature.missing}.to_string();
  }
  return text;
}

Shape feature_shape(const Feature& feature, std::int64_t count) {
  const TensorSpec& spec = feature.spec;
  const std::int64_t row = row_elements(spec);
  if (!is_free(spec)) {
    if (count == row) return spec.shape();
    throw DataError(fmt::format("feature \"{}\" has {} values, and {} has {}",
                                printable(feature.name), count, spec.to_string(), row));
  }
  if (row == 0 ? count != 0 : count % row != 0) {
    throw DataError(fmt::format("feature \"{}\" has {} values, which make no whole {}",
                                printable(feature.name), count, spec.to_string()));
  }
  std::vector<std::int64_t> dims = *spec.dims;
  dims[0] = row == 0 ? 0 : count / row;
  return Shape(std::span<const std::int64_t>(dims));
}

Value missing_value(const Feature& feature, const RecordMemory& memory) {
  const TensorSpec& spec = feature.spec;
  if (!feature.missing && !is_free(spec)) {
    throw DataError(fmt::format("feature \"{}\" is missing; give a value for records without it",
                                printable(feature.name)));
  }
  if (is_free(spec) || !spec.dims->empty()) {
    const Shape shape = is_free(spec) ? feature_shape(feature, 0) : spec.shape();
    if (spec.dtype == DType::bytes) {
      const std::vector<std::string_view> texts(
          static_cast<std::size_t>(shape.elements()),
          feature.missing ? feature.missing->text() : std::string_view());
      return Tensor::from_strings(std::span<const std::string_view>(texts), shape, memory.device,
                                  memory.options);
    }
    Tensor tensor = Tensor::empty(shape, spec.dtype, memory.device, memory.options);
    const Bytes item = dtype_size(spec.dtype);
    auto* const to =
        shape.elements() == 0 ? nullptr : static_cast<std::byte*>(tensor.raw_mutable_data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      if (feature.missing->is_scalar()) {
        std::memcpy(to + static_cast<Bytes>(i) * item, &feature.missing->bits(), item);
      } else {
        std::memcpy(to + static_cast<Bytes>(i) * item, feature.missing->tensor().raw_data(), item);
      }
    }
    return tensor;
  }
  if (spec.dtype != DType::bytes) return *feature.missing;
  return memory.text(feature.missing->text());
}

}  // namespace plimsoll::data
