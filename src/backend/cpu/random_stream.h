#pragma once

#include <cstdint>

#include <plimsoll/base/philox.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::cpu {

/// The random words of one op in one step: a function of the RandomKey, the op's place in the step
/// and an index, so that they do not depend on threads, order or device.
class RandomStream {
 public:
  RandomStream(const ops::RandomKey& key, std::int64_t random_id) {
    const auto id = static_cast<std::uint64_t>(random_id);
    const Philox::Counter place = {static_cast<std::uint32_t>(key.step),
                                   static_cast<std::uint32_t>(key.step >> 32), key.micro_batch,
                                   static_cast<std::uint32_t>(id ^ (id >> 32))};
    const Philox::Counter words = Philox::draw(
        place, {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
    key_ = {words[0], words[1]};
    high_ = {words[2], words[3]};
  }

  /// Words 4 * block to 4 * block + 3.
  Philox::Counter block(std::uint64_t block) const {
    return Philox::draw({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                         high_[0], high_[1]},
                        key_);
  }

  const Philox::Key& key() const { return key_; }
  const Philox::Key& high() const { return high_; }

 private:
  Philox::Key key_;
  Philox::Key high_;
};

/// How many words random_words() gives.
inline constexpr std::int64_t kRandomWords = 1024;
/// Words `first` to `first` + kRandomWords - 1 of the stream; `first` is a multiple of 4.
void random_words(const RandomStream& stream, std::uint64_t first, std::uint32_t* words);

}  // namespace plimsoll::cpu
