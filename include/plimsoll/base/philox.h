#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): random numbers as
/// a pure function of a key and a counter, so that a draw depends on what it is for and not on
/// which came before it. Thread-safe: there is no state.
struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  /// Four independent words, uniform over 32 bits.
  static constexpr Counter draw(Counter counter, Key key) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {
          static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return counter;
  }

  /// A word as a number in [0, 1), one of 2^24 equally spaced.
  static constexpr float unit(std::uint32_t word) {
    return static_cast<float>(word >> 8) * (1.0F / 16777216.0F);
  }

  /// A word as a number in [0, count), for count > 0; the bias is at most count / 2^32.
  static constexpr std::uint32_t below(std::uint32_t word, std::uint32_t count) {
    return static_cast<std::uint32_t>((std::uint64_t{word} * count) >> 32);
  }
};

}  // namespace plimsoll
