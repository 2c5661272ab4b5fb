#pragma once

#include <cstdint>
#include <span>

#include <plimsoll/base/shape.h>
#include <plimsoll/device/device.h>

namespace plimsoll {

/// One side of a copy: where its first element is and how the others lie, in elements.
struct StridedPlace {
  void* data = nullptr;
  std::span<const std::int64_t> strides;
};

/// Who copies: a device, or the host itself if it is null. Not owned.
struct Mover {
  const Device* device = nullptr;
  bool has_both = false;          ///< both sides are on the device
  StreamId stream = kHostStream;  ///< of the device
};

/// Copies the elements of `shape`, of `item` bytes each, in the same order. A device that has both
/// sides may do it in one go; else it makes the longest runs that lie dense on both sides. Nothing
/// is allocated. Ordered on the mover's stream; finished on return unless that is a device's own.
/// The sides must not overlap.
void copy_strided(const Mover& mover, const Shape& shape, Bytes item, StridedPlace to,
                  StridedPlace from);

}  // namespace plimsoll
