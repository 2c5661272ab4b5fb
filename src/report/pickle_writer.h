#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::report {

/// Writes a value as a Python pickle of protocol 2, with dictionaries, lists, texts and whole
/// numbers alone: what any unpickler has, PyTorch's viewer's among them.
class PickleWriter {
 public:
  PickleWriter() { bytes_ = "\x80\x02"; }

  /// Key and value in turn until end_dict().
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void begin_list() { bytes_ += "]("; }
  /// Between elements of a long list, now and then: readers take what is between two as one call.
  void flush_list() { bytes_ += "e("; }
  void end_list() { bytes_ += 'e'; }

  void text(std::string_view value) {
    bytes_ += 'X';
    little_endian(value.size(), 4);
    bytes_ += value;
  }
  /// Up to 2^63 - 1.
  void number(std::uint64_t value) {
    if (value < 0x100) {
      bytes_ += 'K';
      little_endian(value, 1);
    } else if (value < 0x10000) {
      bytes_ += 'M';
      little_endian(value, 2);
    } else if (value < 0x80000000) {
      bytes_ += 'J';
      little_endian(value, 4);
    } else {
      bytes_ += "\x8a\x08";
      little_endian(value, 8);
    }
  }
  void entry(std::string_view key, std::string_view value) {
    text(key);
    text(value);
  }
  void entry(std::string_view key, std::uint64_t value) {
    text(key);
    number(value);
  }

  /// Ends it.
  std::string take() { return std::move(bytes_ += '.'); }

 private:
  void little_endian(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>((value >> (8U * i)) & 0xFFU);
  }

  std::string bytes_;
};

}  // namespace plimsoll::report
