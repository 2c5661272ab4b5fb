#pragma once

#include <cstdint>

#include <plimsoll/ops/attributes.h>
#include <plimsoll/tensor/tensor.h>

// How batch normalisation sees its input.

namespace plimsoll::cpu {

/// [batch, channels, size], or with `columns` [batch * size, channels].
struct BatchLayout {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t size = 1;
  bool columns = false;

  std::int64_t rows() const { return batch * size; }
};

inline BatchLayout layout_of(const Shape& shape, const ops::Attributes& attributes) {
  if (!attributes.flag("channels_last")) {
    const std::int64_t size = shape.rank() == 2 ? 1 : shape[2] * shape[3];
    return {shape[0], shape[1], size, false};
  }
  const std::int64_t channels = shape.dim(-1);
  std::int64_t rows = 1;
  for (int i = 0; i < shape.rank() - 1; ++i) rows *= shape[i];
  return {rows, channels, 1, true};
}

}  // namespace plimsoll::cpu
