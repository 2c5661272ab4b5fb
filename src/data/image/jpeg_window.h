#pragma once

#include <cstddef>
#include <cstdint>

#include "data/image/workspace.h"

namespace plimsoll::image {

/// The coded bytes of a scan without their stuffing (ff 00 for ff), a window at a time, so that a
/// bit reader may load eight bytes anywhere without looking at them.
///
/// A segment ends at a marker or at the end of the file. Past its end the window reads as zeros.
/// Not thread-safe.
class JpegWindow {
 public:
  /// Most bytes that are read between two calls of fill(): an MCU of 10 blocks of 64 coefficients
  /// of 27 bits.
  static constexpr std::size_t kReach = 2304;

  static Bytes cost() { return Workspace::cost(kCapacity + kReach + kVector); }

  JpegWindow(const std::uint8_t* next, const std::uint8_t* end, Workspace& workspace)
      : next_(next),
        end_(end),
        bytes_(workspace.take_array<std::uint8_t>(kCapacity + kReach + kVector)),
        filled_(bytes_) {}

  /// Makes at least kReach bytes readable from the result on, which stands for `position` (null at
  /// the start of a segment). `position` is in the window, or up to kReach past its end.
  const std::uint8_t* fill(const std::uint8_t* position) {
    if (ended_ && position != nullptr) return position;
    if (position != nullptr && filled_ - position >= static_cast<std::ptrdiff_t>(kReach)) {
      return position;
    }
    return refill(position);
  }

  /// Whether all of the segment is in the window; filled() is then its end.
  bool ended() const { return ended_; }
  const std::uint8_t* filled() const { return filled_; }

  /// The marker that ended the segment; 0 at the end of the file.
  int marker() const { return marker_; }

  /// Steps over what is left of the segment without looking at it. Nothing of it may be read any
  /// more.
  void skip_segment();

  /// Goes on behind that marker. fill(nullptr) must follow, or skip_segment().
  void next_segment() {
    ended_ = false;
    marker_ = 0;
  }

 private:
  static constexpr std::size_t kCapacity = 10240;
  static constexpr std::size_t kVector = 64;

  const std::uint8_t* refill(const std::uint8_t* position);
  void end_segment();

  const std::uint8_t* next_;
  const std::uint8_t* end_;
  std::uint8_t* bytes_;
  std::uint8_t* filled_;
  bool ended_ = false;
  int marker_ = 0;
};

}  // namespace plimsoll::image
