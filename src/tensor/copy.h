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

/// Copies the elements of `shape`, of `item` bytes each, in the same order. `mover` does it unless
/// it is null: then the host can reach both sides itself. Makes the longest runs that lie dense on
/// both sides; nothing is allocated. Finished on return. The sides must not overlap.
void copy_strided(const Device* mover, const Shape& shape, Bytes item, StridedPlace to,
                  StridedPlace from);

}  // namespace plimsoll
