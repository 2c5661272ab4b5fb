#pragma once

#include <cstdint>

#include <plimsoll/base/shape.h>

namespace plimsoll::backend {

/// Pictures as [planes, height, width, channels]: with channels first, each channel is a plane of
/// one.
struct Picture {
  std::int64_t planes;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};

inline Picture picture_of(bool channels_last, const Shape& shape) {
  return channels_last ? Picture{shape[0], shape[1], shape[2], shape[3]}
                       : Picture{shape[0] * shape[1], shape[2], shape[3], 1};
}

}  // namespace plimsoll::backend
