#pragma once

#include <cstdint>

#include <plimsoll/data/element.h>

namespace plimsoll::data {

/// A permutation of 0 .. count - 1 that takes no memory: a Feistel network over the next power of
/// four, walked until it lands inside. The same key gives the same permutation.
class Permutation {
 public:
  Permutation(std::int64_t count, std::uint64_t key);
  std::int64_t operator()(std::int64_t index) const;
  /// The index that operator() takes to `value`.
  std::int64_t inverse(std::int64_t value) const;

 private:
  static constexpr std::uint64_t kRounds = 6;
  std::uint64_t count_;
  std::uint64_t key_;
  int half_bits_ = 1;
};

inline Permutation::Permutation(std::int64_t count, std::uint64_t key)
    : count_(static_cast<std::uint64_t>(count)), key_(key) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < count_) ++half_bits_;
}

inline std::int64_t Permutation::operator()(std::int64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix_ids(key_ + round, right) & mask);
      left = right;
      right = next;
    }
    x = (left << half_bits_) | right;
  } while (x >= count_);
  return static_cast<std::int64_t>(x);
}

inline std::int64_t Permutation::inverse(std::int64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(value);
  do {
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = kRounds; round-- > 0;) {
      const std::uint64_t before = right ^ (mix_ids(key_ + round, left) & mask);
      right = left;
      left = before;
    }
    x = (left << half_bits_) | right;
  } while (x >= count_);
  return static_cast<std::int64_t>(x);
}

}  // namespace plimsoll::data
