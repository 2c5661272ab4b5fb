#include "data/records/example.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/records/varint.h"

namespace plimsoll::data {
namespace {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t varint = 0;
  std::string_view bytes;  ///< of everything but varints
};

[[noreturn]] void malformed(const char* what) {
  throw DataError(fmt::format("not a tf.train.Example: {}", what));
}

/// Takes a field from the front; false at the end.
bool next_field(std::string_view& rest, Field& field) {
  if (rest.empty()) return false;
  // One byte holds the tag of all fields that an Example has.
  const auto head = static_cast<unsigned char>(rest.front());
  std::uint64_t tag = head;
  if (head < 0x80) {
    rest.remove_prefix(1);
  } else {
    const auto number = take_varint(rest);
    if (!number) malformed("a tag is cut off");
    tag = *number;
  }
  field.number = tag >> 3;
  if (field.number == 0 || field.number > 0x1FFFFFFF) malformed("a field's number is wrong");
  field.wire = static_cast<Wire>(tag & 7);
  std::size_t size = 0;
  switch (field.wire) {
    case Wire::varint: {
      const auto value = take_varint(rest);
      if (!value) malformed("a number is cut off");
      field.varint = *value;
      return true;
    }
    case Wire::bytes: {
      const auto text = take_text(rest);
      if (!text) malformed("a field exceeds what is there");
      field.bytes = *text;
      return true;
    }
    case Wire::fixed64:
      size = 8;
      break;
    case Wire::fixed32:
      size = 4;
      break;
    default:
      malformed("a field is of an unknown kind");
  }
  if (rest.size() < size) malformed("a number is cut off");
  field.bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

StoredFeature stored(std::string_view message) {
  StoredFeature result;
  Field field;
  while (next_field(message, field)) {
    if (field.number > 3) continue;
    if (field.wire != Wire::bytes) malformed("a list is no message");
    result.kind = static_cast<StoredFeature::Kind>(field.number);
    result.list = field.bytes;
  }
  return result;
}

/// Calls `each(name, feature message)` for the entries of the map.
template <typename Each>
void for_each_entry(std::string_view example, Each each) {
  Field features;
  while (next_field(example, features)) {
    if (features.number != 1) continue;
    if (features.wire != Wire::bytes) malformed("its features are no message");
    std::string_view map = features.bytes;
    Field entry;
    while (next_field(map, entry)) {
      if (entry.number != 1) continue;
      if (entry.wire != Wire::bytes) malformed("a feature is no message");
      std::string_view rest = entry.bytes;
      std::string_view name;
      std::string_view value;
      Field part;
      while (next_field(rest, part)) {
        if (part.number > 2) continue;
        if (part.wire != Wire::bytes) malformed("a feature's name or value is no message");
        (part.number == 1 ? name : value) = part.bytes;
      }
      each(name, value);
    }
  }
}

// Values of a list, handed to `each` one by one.

template <typename Each>
void for_each_int(std::string_view list, Each each) {
  Field field;
  while (next_field(list, field)) {
    if (field.number != 1) continue;
    if (field.wire == Wire::varint) {
      each(static_cast<std::int64_t>(field.varint));
    } else if (field.wire == Wire::bytes) {
      for (std::string_view packed = field.bytes; !packed.empty();) {
        const auto value = take_varint(packed);
        if (!value) malformed("a number is cut off");
        each(static_cast<std::int64_t>(*value));
      }
    } else {
      malformed("an integer is of another kind");
    }
  }
}

/// Runs of floats as bytes.
template <typename Each>
void for_each_float_run(std::string_view list, Each each) {
  Field field;
  while (next_field(list, field)) {
    if (field.number != 1) continue;
    if (field.wire != Wire::bytes && field.wire != Wire::fixed32) {
      malformed("a float is of another kind");
    }
    if (field.bytes.size() % sizeof(float) != 0) malformed("a float is cut off");
    each(field.bytes);
  }
}

template <typename Each>
void for_each_text(std::string_view list, Each each) {
  Field field;
  while (next_field(list, field)) {
    if (field.number != 1) continue;
    if (field.wire != Wire::bytes) malformed("a byte string is of another kind");
    each(field.bytes);
  }
}

Value texts(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  if (feature.spec.dims->empty()) {
    std::string_view only;
    std::int64_t count = 0;
    for_each_text(list, [&](std::string_view text) {
      only = text;
      ++count;
    });
    feature_shape(feature, count);
    return Tensor::from_strings({only}, {}, memory.device, memory.options);
  }
  std::int64_t count = 0;
  for_each_text(list, [&](std::string_view) { ++count; });
  const Shape shape = feature_shape(feature, count);
  const auto total = static_cast<std::size_t>(count);
  const Block block = memory.device.arena().allocate(
      std::max<std::size_t>(total, 1) * sizeof(std::string_view), memory.options.account);
  auto* const views = static_cast<std::string_view*>(block.data());
  std::size_t at = 0;
  for_each_text(list, [&](std::string_view text) { new (views + at++) std::string_view(text); });
  return Tensor::from_strings(std::span<const std::string_view>(views, total), shape, memory.device,
                              memory.options);
}

Value floats(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  std::size_t bytes = 0;
  float only = 0;
  for_each_float_run(list, [&](std::string_view run) {
    if (bytes == 0 && !run.empty()) std::memcpy(&only, run.data(), sizeof(only));
    bytes += run.size();
  });
  const Shape shape = feature_shape(feature, static_cast<std::int64_t>(bytes / sizeof(float)));
  if (shape.rank() == 0) return only;
  Tensor tensor = Tensor::empty(shape, DType::f32, memory.device, memory.options);
  if (bytes == 0) return tensor;
  auto* to = static_cast<std::byte*>(tensor.raw_mutable_data());
  for_each_float_run(list, [&](std::string_view run) {
    std::memcpy(to, run.data(), run.size());
    to += run.size();
  });
  return tensor;
}

Value ints(const Feature& feature, std::string_view list, const RecordMemory& memory) {
  std::int64_t count = 0;
  std::int64_t only = 0;
  for_each_int(list, [&](std::int64_t value) {
    only = value;
    ++count;
  });
  const Shape shape = feature_shape(feature, count);
  if (shape.rank() == 0) return only;
  Tensor tensor = Tensor::empty(shape, DType::i64, memory.device, memory.options);
  if (count == 0) return tensor;
  auto* to = tensor.mutable_data<std::int64_t>();
  for_each_int(list, [&](std::int64_t value) { *to++ = value; });
  return tensor;
}

}  // namespace

std::int64_t StoredFeature::count() const {
  std::int64_t total = 0;
  if (kind == Kind::bytes) for_each_text(list, [&](std::string_view) { ++total; });
  if (kind == Kind::ints) for_each_int(list, [&](std::int64_t) { ++total; });
  if (kind == Kind::floats) {
    for_each_float_run(list, [&](std::string_view run) {
      total += static_cast<std::int64_t>(run.size() / sizeof(float));
    });
  }
  return total;
}

void StoredFeature::copy_to(std::int64_t* to) const {
  for_each_int(list, [&](std::int64_t value) { *to++ = value; });
}

void StoredFeature::copy_to(float* to) const {
  for_each_float_run(list, [&](std::string_view run) {
    if (run.empty()) return;
    std::memcpy(to, run.data(), run.size());
    to += run.size() / sizeof(float);
  });
}

std::vector<std::string_view> StoredFeature::texts() const {
  std::vector<std::string_view> all;
  for_each_text(list, [&](std::string_view text) { all.push_back(text); });
  return all;
}

StoredFeature find_feature(std::string_view example, std::string_view name) {
  StoredFeature found;
  for_each_entry(example, [&](std::string_view called, std::string_view value) {
    if (called == name) found = stored(value);
  });
  return found;
}

StoredFeature::Kind stored_kind(DType dtype) {
  return dtype == DType::bytes ? StoredFeature::Kind::bytes
         : dtype == DType::f32 ? StoredFeature::Kind::floats
                               : StoredFeature::Kind::ints;
}

const char* kind_name(StoredFeature::Kind kind) {
  constexpr std::array<const char*, 4> kNames = {"nothing", "bytes", "floats", "integers"};
  return kNames[static_cast<std::size_t>(kind)];
}

void read_example(std::string_view bytes,
                  const std::function<void(std::string_view, const StoredFeature&)>& each) {
  for_each_entry(bytes,
                 [&](std::string_view name, std::string_view value) { each(name, stored(value)); });
}

ExampleParser::ExampleParser(Features features)
    : features_(std::move(features)), spec_(features_spec(features_, "tfrecords")) {
  for (const Feature& feature : features_) {
    const DType dtype = feature.spec.dtype;
    if (dtype == DType::i64 || dtype == DType::f32 || dtype == DType::bytes) continue;
    throw InvalidArgument(
        fmt::format("[tfrecords] feature \"{}\" is {}; an Example has i64, f32 and bytes, from "
                    "which a map can make others",
                    printable(feature.name), dtype_name(dtype)));
  }
}

Element ExampleParser::parse(std::string_view bytes, const RecordMemory& memory) const {
  constexpr std::size_t kFew = 16;
  struct Found {
    std::string_view value;
    bool there = false;
  };
  std::array<Found, kFew> few;
  std::vector<Found> many(features_.size() > kFew ? features_.size() : 0);
  Found* const found = many.empty() ? few.data() : many.data();
  // Records of a file mostly have their features in one order.
  std::size_t hint = 0;
  for_each_entry(bytes, [&](std::string_view name, std::string_view value) {
    for (std::size_t tried = 0; tried < features_.size(); ++tried) {
      const std::size_t i =
          hint + tried < features_.size() ? hint + tried : hint + tried - features_.size();
      if (features_[i].name != name) continue;
      found[i] = {value, true};
      hint = i + 1 < features_.size() ? i + 1 : 0;
      return;
    }
  });
  Element element;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    const StoredFeature feature_stored = found[i].there ? stored(found[i].value) : StoredFeature{};
    if (feature_stored.kind == StoredFeature::Kind::none) {
      element.push_back(missing_value(feature, memory));
      continue;
    }
    if (feature_stored.kind != stored_kind(feature.spec.dtype)) {
      throw DataError(fmt::format("feature \"{}\" has {}, and {} was asked for",
                                  printable(feature.name), kind_name(feature_stored.kind),
                                  feature.spec.to_string()));
    }
    switch (feature_stored.kind) {
      case StoredFeature::Kind::bytes:
        element.push_back(texts(feature, feature_stored.list, memory));
        break;
      case StoredFeature::Kind::floats:
        element.push_back(floats(feature, feature_stored.list, memory));
        break;
      default:
        element.push_back(ints(feature, feature_stored.list, memory));
    }
  }
  return element;
}

}  // namespace plimsoll::data
