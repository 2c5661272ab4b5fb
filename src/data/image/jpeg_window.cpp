#include "data/image/jpeg_window.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace plimsoll::image {
namespace {

constexpr std::uint8_t kStuffed = 0xff;

constexpr int kUnit = 16;

/// Copies kUnit bytes. Returns how many of them come before the first ff, kUnit if there is none.
#if defined(__x86_64__)
int copy_unit(std::uint8_t* to, const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  const int stuffed = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1)));
  // A branch that is foreseen: what follows need not wait for the count.
  if (__builtin_expect(stuffed == 0, 1)) return kUnit;
  return std::countr_zero(static_cast<unsigned>(stuffed));
}
#else
int copy_unit(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, kUnit);
  return static_cast<int>(std::find(to, to + kUnit, kStuffed) - to);
}
#endif

}  // namespace

const std::uint8_t* JpegWindow::refill(const std::uint8_t* position) {
  const std::size_t kept = position == nullptr ? 0 : static_cast<std::size_t>(filled_ - position);
  std::memmove(bytes_, filled_ - kept, kept);
  filled_ = bytes_ + kept;
  std::uint8_t* const limit = bytes_ + kCapacity;
  while (filled_ < limit) {
    // Written in whole units: there is room for one behind the limit.
    while (end_ - next_ >= kUnit && filled_ < limit) {
      const int plain = copy_unit(filled_, next_);
      next_ += plain;
      filled_ += plain;
      if (plain < kUnit) break;
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
  filled_ = bytes_;  // it may lie up to a unit behind the limit, where there is no room for zeros
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
