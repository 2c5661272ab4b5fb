#pragma once

#include <cstdint>

#include <plimsoll/base/philox.h>
#include <plimsoll/ops/dispatcher.h>

#include "backend/cpu/math.h"

namespace plimsoll::cpu {

/// The random words of one op: a function of the key, the op's place and the element, whatever the
/// launch. Elements go in groups of 64, each of 16 Philox blocks: element i has word i / 16 % 4 of
/// block i / 64 * 16 + i % 16, so that sixteen blocks are drawn side by side.
class RandomDraws {
 public:
  static constexpr std::int64_t kGroup = 64;

  RandomDraws(const ops::RandomKey& key, std::int64_t random_id) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto id = static_cast<std::uint64_t>(random_id);
    const auto place =
        Philox::draw({low(id), high(id), key.micro_batch, 0}, {low(key.seed), high(key.seed)});
    const auto moment =
        Philox::draw({low(key.step), high(key.step), place[0], place[1]}, {place[2], place[3]});
    key_ = {moment[0], moment[1]};
    tail_ = {moment[2], moment[3]};
  }

  /// The words of the elements from group * 64 on.
  PLIMSOLL_INLINE void group(std::int64_t group, std::uint32_t* PLIMSOLL_RESTRICT words) const {
    constexpr int kBlocks = 16;
    const auto first = static_cast<std::uint64_t>(group) * kBlocks;
    std::uint32_t c0[kBlocks];
    std::uint32_t c1[kBlocks];
    std::uint32_t c2[kBlocks];
    std::uint32_t c3[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
      // Groups start at multiples of 16, so there is no carry.
      c0[i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i);
      c1[i] = static_cast<std::uint32_t>(first >> 32);
      c2[i] = tail_[0];
      c3[i] = tail_[1];
    }
    std::uint32_t k0 = key_[0];
    std::uint32_t k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kBlocks; ++i) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * c0[i];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<std::uint32_t>(b >> 32) ^ c1[i] ^ k0;
        c2[i] = static_cast<std::uint32_t>(a >> 32) ^ c3[i] ^ k1;
        c1[i] = static_cast<std::uint32_t>(b);
        c3[i] = static_cast<std::uint32_t>(a);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (int i = 0; i < kBlocks; ++i) {
      words[i] = c0[i];
      words[i + kBlocks] = c1[i];
      words[i + 2 * kBlocks] = c2[i];
      words[i + 3 * kBlocks] = c3[i];
    }
  }

 private:
  Philox::Key key_{};
  Philox::Key tail_{};
};

}  // namespace plimsoll::cpu
