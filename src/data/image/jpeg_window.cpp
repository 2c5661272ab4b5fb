#include "data/image/jpeg_window.h"

#include <bit>
#include <cstring>

namespace plimsoll::image {
namespace {

constexpr std::uint8_t kStuffed = 0xff;

/// How many of the eight bytes come before the first ff: 8 if there is none.
int bytes_before_ff(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  // The lowest byte of ~word that is zero; those above it may be marked wrongly.
  const std::uint64_t zero = (~word - kOnes) & word & (kOnes << 7);
  return zero == 0 ? 8 : std::countr_zero(zero) / 8;
}

}  // namespace

const std::uint8_t* JpegWindow::refill(const std::uint8_t* position) {
  const std::size_t kept = position == nullptr ? 0 : static_cast<std::size_t>(filled_ - position);
  std::memmove(bytes_, filled_ - kept, kept);
  filled_ = bytes_ + kept;
  std::uint8_t* const limit = bytes_ + kCapacity;
  while (filled_ < limit) {
    // Written in whole words: there is room for one behind the limit.
    while (end_ - next_ >= 8 && filled_ < limit) {
      std::uint64_t word = 0;
      std::memcpy(&word, next_, 8);
      std::memcpy(filled_, &word, 8);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
      const int plain = bytes_before_ff(word);
      next_ += plain;
      filled_ += plain;
      if (plain < 8) break;
    }
    if (filled_ >= limit) break;
    if (next_ == end_) {
      end_segment();
      break;
    }
    if (*next_ != kStuffed) {
      *filled_++ = *next_++;
      continue;
    }
    if (end_ - next_ < 2 || next_[1] != 0) {
      end_segment();
      break;
    }
    *filled_++ = kStuffed;
    next_ += 2;
  }
  return bytes_;
}

void JpegWindow::skip_segment() {
  while (!ended_) {
    const auto left = static_cast<std::size_t>(end_ - next_);
    const void* const found = left == 0 ? nullptr : std::memchr(next_, kStuffed, left);
    next_ = found == nullptr ? end_ : static_cast<const std::uint8_t*>(found);
    if (end_ - next_ >= 2 && next_[1] == 0) {
      next_ += 2;
    } else {
      end_segment();
    }
  }
}

void JpegWindow::end_segment() {
  ended_ = true;
  while (next_ < end_ && *next_ == kStuffed) ++next_;
  if (next_ < end_) marker_ = *next_++;
  std::memset(filled_, 0, kReach + kVector - 8);
}

}  // namespace plimsoll::image
