#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/records/example.h"
#include "data/records/varint.h"

/// How a tf.train.Example lies in bytes: protobuf's fields, and the lists of a feature.
namespace plimsoll::data::wire {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t varint = 0;
  std::string_view bytes;  ///< of everything but varints
};

[[noreturn]] inline void malformed(const char* what) {
  throw DataError(fmt::format("not a tf.train.Example: {}", what));
}

/// Takes a field of any kind from the front of `rest`, which is not empty.
inline void take_field(std::string_view& rest, Field& field) {
  const auto number = take_varint(rest);
  if (!number) malformed("a tag is cut off");
  const std::uint64_t tag = *number;
  field.number = tag >> 3;
  if (field.number == 0 || field.number > 0x1FFFFFFF) malformed("a field's number is wrong");
  field.wire = static_cast<Wire>(tag & 7);
  std::size_t size = 0;
  switch (field.wire) {
    case Wire::varint: {
      const auto value = take_varint(rest);
      if (!value) malformed("a number is cut off");
      field.varint = *value;
      return;
    }
    case Wire::bytes: {
      const auto text = take_text(rest);
      if (!text) malformed("a field exceeds what is there");
      field.bytes = *text;
      return;
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
}

/// Takes a field from the front; false at the end.
inline bool next_field(std::string_view& rest, Field& field) {
  if (rest.empty()) return false;
  // Nearly all are messages of less than 128 bytes under the numbers 1 to 15: two bytes in front.
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  if (rest.size() >= 2 && (byte(0) & 0x87U) == 2 && byte(0) > 7 && byte(1) < 0x80 &&
      byte(1) <= rest.size() - 2) {
    field.number = byte(0) >> 3;
    field.wire = Wire::bytes;
    field.bytes = {rest.data() + 2, byte(1)};
    rest.remove_prefix(std::size_t{2} + byte(1));
    return true;
  }
  take_field(rest, field);
  return true;
}

inline StoredFeature stored(std::string_view message) {
  StoredFeature result;
  Field field;
  while (next_field(message, field)) {
    if (field.number > 3) continue;
    if (field.wire != Wire::bytes) malformed("a list is not a message");
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
    if (features.wire != Wire::bytes) malformed("its features are not a message");
    std::string_view map = features.bytes;
    Field entry;
    while (next_field(map, entry)) {
      if (entry.number != 1) continue;
      if (entry.wire != Wire::bytes) malformed("a feature is not a message");
      std::string_view rest = entry.bytes;
      std::string_view name;
      std::string_view value;
      Field part;
      while (next_field(rest, part)) {
        if (part.number > 2) continue;
        if (part.wire != Wire::bytes) malformed("a feature's name or value is not a message");
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

}  // namespace plimsoll::data::wire
