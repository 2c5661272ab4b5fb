#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <plimsoll/base/bytes.h>

namespace plimsoll::tools {

/// A hash of bytes. Eight lanes of a multiplication and additions each, which compilers vectorise:
/// hashing must not take what is being measured.
class ContentHash {
 public:
  void add(const void* data, Bytes count) {
    const auto* const bytes = static_cast<const unsigned char*>(data);
    Lanes lanes = lanes_;  // in registers: bytes may lie anywhere, members included
    Bytes at = 0;
    for (; at + kBlock <= count; at += kBlock) {
      for (Bytes i = 0; i < kBlock; i += kStep) accumulate(lanes, bytes + at + i);
      scramble(lanes);
    }
    std::array<unsigned char, kStep> rest{};
    for (; at < count; at += kStep) {
      rest.fill(0);
      std::memcpy(rest.data(), bytes + at, std::min(kStep, count - at));
      accumulate(lanes, rest.data());
      scramble(lanes);
    }
    lanes[0] += count;
    scramble(lanes);
    lanes_ = lanes;
  }
  std::uint64_t value() const {
    std::uint64_t all = 0;
    for (const std::uint64_t lane : lanes_) all = mixed(all, lane);
    return all;
  }

 private:
  static constexpr std::size_t kLanes = 8;
  static constexpr Bytes kStep = kLanes * sizeof(std::uint64_t);
  static constexpr Bytes kBlock = 16 * kStep;
  using Lanes = std::array<std::uint64_t, kLanes>;

  static void accumulate(Lanes& lanes, const unsigned char* bytes) {
    Lanes words;
    std::memcpy(words.data(), bytes, kStep);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t keyed = words[i] ^ 0x9FB21C651E98DF25U;
      lanes[i] =
          (lanes[i] << 1) + (lanes[i] >> 63) + words[i] + (keyed & 0xFFFFFFFFU) * (keyed >> 32);
    }
  }
  /// Products lose their middle; mixing all bits now and then makes up for it.
  static void scramble(Lanes& lanes) {
    for (std::uint64_t& lane : lanes) lane = mixed(lane, 0x165667B19E3779F9U);
  }
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
  Lanes lanes_{1, 2, 3, 4, 5, 6, 7, 8};
};

}  // namespace plimsoll::tools
