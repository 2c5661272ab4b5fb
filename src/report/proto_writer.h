#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace plimsoll::report {

/// Writes a protobuf message, field by field.
class ProtoWriter {
 public:
  ProtoWriter& number(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  ProtoWriter& real(std::uint32_t field, double value) {
    key(field, 1);
    fixed(&value, sizeof value);
    return *this;
  }
  ProtoWriter& real(std::uint32_t field, float value) {
    key(field, 5);
    fixed(&value, sizeof value);
    return *this;
  }
  /// A string, bytes, or a message.
  ProtoWriter& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoWriter& message(std::uint32_t field, const ProtoWriter& value) {
    return text(field, value.bytes_);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t kind) { varint((field << 3U) | kind); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
      value >>= 7U;
    }
    bytes_ += static_cast<char>(value);
  }
  /// Little endian, as the processors are that this runs on.
  void fixed(const void* value, std::size_t size) {
    bytes_.append(static_cast<const char*>(value), size);
  }

  std::string bytes_;
};

}  // namespace plimsoll::report
