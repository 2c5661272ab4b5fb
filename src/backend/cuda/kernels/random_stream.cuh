#pragma once

#include <cstdint>

#include <plimsoll/backend/common/polynomials.h>
#include <plimsoll/base/philox.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>

// The random words of one op in one step, as on the CPU: word i of a stream is a function of the
// RandomKey, the op's place in the step and i, whatever thread draws it.

namespace plimsoll::cuda {

/// What a kernel draws from, as its parameter.
struct RandomSource {
  ops::RandomKey key;
  const ops::RandomKey* key_at;  ///< on the device; null: `key` it is
  std::uint32_t place;
};

inline RandomSource random_source(const ops::KernelContext& k) {
  const auto id = static_cast<std::uint64_t>(k.attributes.integer("random_id"));
  return {k.random, k.random_at, static_cast<std::uint32_t>(id ^ (id >> 32))};
}

/// Four words.
struct RandomWords {
  std::uint32_t word[4];
};

__device__ __forceinline__ RandomWords philox(RandomWords c, std::uint32_t key0,
                                              std::uint32_t key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t a_high = __umulhi(0xD2511F53U, c.word[0]);
    const std::uint32_t a_low = 0xD2511F53U * c.word[0];
    const std::uint32_t b_high = __umulhi(0xCD9E8D57U, c.word[2]);
    const std::uint32_t b_low = 0xCD9E8D57U * c.word[2];
    c = {{b_high ^ c.word[1] ^ key0, b_low, a_high ^ c.word[3] ^ key1, a_low}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

class RandomStream {
 public:
  __device__ explicit RandomStream(const RandomSource& source) {
    const ops::RandomKey key = source.key_at != nullptr ? *source.key_at : source.key;
    words_ =
        philox({{static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32),
                 key.micro_batch, source.place}},
               static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32));
  }

  /// Words 4 * block to 4 * block + 3.
  __device__ RandomWords block(std::uint64_t block) const {
    return philox({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    words_.word[2], words_.word[3]}},
                  words_.word[0], words_.word[1]);
  }

 private:
  RandomWords words_;
};

using backend::unit;

}  // namespace plimsoll::cuda
