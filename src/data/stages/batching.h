#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>

#include "data/engine/node.h"

// What stages that put elements together have in common.

namespace plimsoll::data {

/// What is made ahead of the consumer leaves this much free.
inline constexpr Bytes kLeave = MiB(1);

/// Elements like `row`, `extent` of them in one.
inline ElementSpec batched(ElementSpec row, std::int64_t extent) {
  for (TensorSpec& component : row.components) component = component.batched(extent);
  return row;
}

/// Whether every batch of `size` elements of `input` is full; `drop`: one that is not is left out.
inline bool full_batches_only(const Node& input, std::int64_t size, bool drop) {
  const std::int64_t all = input.cardinality();
  return drop || all == kInfinite || (all >= 0 && all % size == 0);
}

}  // namespace plimsoll::data
