#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/records/example.h"
#include "data/records/example_wire.h"

namespace plimsoll::data {

namespace {

/// The byte string of a feature that is one.
std::string_view only_text(const Feature& feature, std::string_view list) {
  std::string_view only;
  std::int64_t count = 0;
  wire::for_each_text(list, [&](std::string_view text) {
    only = text;
    ++count;
  });
  if (count != 1) feature_shape(feature, count);
  return only;
}

Value texts(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  if (feature.spec.dims->empty()) return memory.text(only_text(feature, list));
  std::int64_t count = 0;
  wire::for_each_text(list, [&](std::string_view) { ++count; });
  const Shape shape = feature_shape(feature, count);
  const auto total = static_cast<std::size_t>(count);
  const Block block = memory.device.arena().allocate(
      std::max<std::size_t>(total, 1) * sizeof(std::string_view), memory.options.account);
  auto* const views = static_cast<std::string_view*>(block.data());
  std::size_t at = 0;
  wire::for_each_text(list,
                      [&](std::string_view text) { new (views + at++) std::string_view(text); });
  return Tensor::from_strings(std::span<const std::string_view>(views, total), shape, memory.device,
                              memory.options);
}

Value floats(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  std::size_t bytes = 0;
  float only = 0;
  wire::for_each_float_run(list, [&](std::string_view run) {
    if (bytes == 0 && !run.empty()) std::memcpy(&only, run.data(), sizeof(only));
    bytes += run.size();
  });
  const Shape shape = feature_shape(feature, static_cast<std::int64_t>(bytes / sizeof(float)));
  if (shape.rank() == 0) return only;
  Tensor tensor = Tensor::empty(shape, DType::f32, memory.device, memory.options);
  if (bytes == 0) return tensor;
  auto* to = static_cast<std::byte*>(tensor.raw_mutable_data());
  wire::for_each_float_run(list, [&](std::string_view run) {
    std::memcpy(to, run.data(), run.size());
    to += run.size();
  });
  return tensor;
}

Value ints(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  std::int64_t count = 0;
  std::int64_t only = 0;
  wire::for_each_int(list, [&](std::int64_t value) {
    only = value;
    ++count;
  });
  const Shape shape = feature_shape(feature, count);
  if (shape.rank() == 0) return only;
  Tensor tensor = Tensor::empty(shape, DType::i64, memory.device, memory.options);
  if (count == 0) return tensor;
  auto* to = tensor.mutable_data<std::int64_t>();
  wire::for_each_int(list, [&](std::int64_t value) { *to++ = value; });
  return tensor;
}

// The same to memory for as many numbers as the feature has, which feature_shape() says for others.

void write_floats(const Feature& feature, std::int64_t elements, std::string_view list,
                  std::byte* to) {
  const auto room = static_cast<std::size_t>(elements) * sizeof(float);
  std::size_t bytes = 0;
  wire::for_each_float_run(list, [&](std::string_view run) {
    if (!run.empty() && bytes <= room && run.size() <= room - bytes) {
      std::memcpy(to + bytes, run.data(), run.size());
    }
    bytes += run.size();
  });
  if (bytes != room) feature_shape(feature, static_cast<std::int64_t>(bytes / sizeof(float)));
}

void write_ints(const Feature& feature, std::int64_t elements, std::string_view list,
                std::byte* to) {
  std::int64_t count = 0;
  wire::for_each_int(list, [&](std::int64_t value) {
    if (count < elements) {
      std::memcpy(to + static_cast<std::size_t>(count) * sizeof(value), &value, sizeof(value));
    }
    ++count;
  });
  if (count != elements) feature_shape(feature, count);
}

void write_value(const Value& value, std::size_t c, RowSink& row) {
  if (value.is_scalar()) {
    std::memcpy(row.fixed(c), &value.bits(), value.nbytes());
  } else if (value.dtype() == DType::bytes) {
    row.text(c, value.text());
  } else if (value.nbytes() > 0) {
    std::memcpy(row.fixed(c), value.tensor().raw_data(), value.nbytes());
  }
}

/// Hands the stored features to `each(number, feature)` in the order of `features`, those that are
/// not there with kind `none`. DataError for one of another kind.
template <typename Each>
void for_each_feature(const Features& features, std::string_view example, Each each) {
  constexpr std::size_t kFew = 16;
  struct Found {
    std::string_view value;
    bool there = false;
  };
  std::array<Found, kFew> few;
  std::vector<Found> many(features.size() > kFew ? features.size() : 0);
  Found* const found = many.empty() ? few.data() : many.data();
  // Records of a file mostly have their features in one order.
  std::size_t hint = 0;
  wire::for_each_entry(example, [&](std::string_view name, std::string_view value) {
    for (std::size_t tried = 0; tried < features.size(); ++tried) {
      const std::size_t i =
          hint + tried < features.size() ? hint + tried : hint + tried - features.size();
      if (features[i].name != name) continue;
      found[i] = {value, true};
      hint = i + 1 < features.size() ? i + 1 : 0;
      return;
    }
  });
  for (std::size_t i = 0; i < features.size(); ++i) {
    const StoredFeature feature = found[i].there ? wire::stored(found[i].value) : StoredFeature{};
    if (feature.kind != StoredFeature::Kind::none &&
        feature.kind != stored_kind(features[i].spec.dtype)) {
      throw DataError(fmt::format("feature \"{}\" has {}, and {} was asked for",
                                  printable(features[i].name), kind_name(feature.kind),
                                  features[i].spec.to_string()));
    }
    each(i, feature);
  }
}

}  // namespace

ExampleParser::ExampleParser(Features features)
    : features_(std::move(features)), spec_(features_spec(features_, "tfrecords")) {
  for (const Feature& feature : features_) {
    const DType dtype = feature.spec.dtype;
    const bool fixed = feature.spec.is_fixed();
    has_rows_ = has_rows_ && fixed && (dtype != DType::bytes || feature.spec.dims->empty());
    elements_.push_back(fixed ? feature.spec.shape().elements() : 0);
    if (dtype == DType::i64 || dtype == DType::f32 || dtype == DType::bytes) continue;
    throw InvalidArgument(
        fmt::format("[tfrecords] feature \"{}\" is {}; an Example has i64, f32 and bytes, from "
                    "which a map can make others",
                    printable(feature.name), dtype_name(dtype)));
  }
}

Element ExampleParser::parse(std::string_view bytes, const RecordMemory& memory) const {
  Element element;
  for_each_feature(features_, bytes, [&](std::size_t i, const StoredFeature& feature) {
    switch (feature.kind) {
      case StoredFeature::Kind::none:
        element.push_back(missing_value(features_[i], memory));
        break;
      case StoredFeature::Kind::bytes:
        element.push_back(texts(features_[i], feature.list, memory));
        break;
      case StoredFeature::Kind::floats:
        element.push_back(floats(features_[i], feature.list, memory));
        break;
      case StoredFeature::Kind::ints:
        element.push_back(ints(features_[i], feature.list, memory));
        break;
    }
  });
  return element;
}

void ExampleParser::parse_row(std::string_view bytes, const RecordMemory& memory,
                              RowSink& row) const {
  for_each_feature(features_, bytes, [&](std::size_t i, const StoredFeature& feature) {
    switch (feature.kind) {
      case StoredFeature::Kind::none:
        write_value(missing_value(features_[i], memory), i, row);
        break;
      case StoredFeature::Kind::bytes:
        row.text(i, only_text(features_[i], feature.list));
        break;
      case StoredFeature::Kind::floats:
        write_floats(features_[i], elements_[i], feature.list, row.fixed(i));
        break;
      case StoredFeature::Kind::ints:
        write_ints(features_[i], elements_[i], feature.list, row.fixed(i));
        break;
    }
  });
}

}  // namespace plimsoll::data
