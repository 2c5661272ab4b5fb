#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

/// Rows in pieces whose number depends on the shape alone: sums over rows are taken piece by piece,
/// in threads, and the pieces' sums added in order.
struct RowChunks {
  std::int64_t rows = 0;
  std::int64_t count = 1;

  static RowChunks of(std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t kMost = 32;
    constexpr std::int64_t kElements = 16384;
    const std::int64_t pieces = rows * columns / kElements;
    return {rows, std::clamp<std::int64_t>(std::min(pieces, rows), 1, kMost)};
  }
  std::int64_t begin(std::int64_t chunk) const { return rows * chunk / count; }
  std::int64_t end(std::int64_t chunk) const { return begin(chunk + 1); }
};

/// A few parameters or statistics of any floating dtype as A.
template <typename A>
void load_parameters(const TensorView& from, A* to) {
  with_float(from.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      to[i] = static_cast<A>(static_cast<Acc<T>>(from.as<const T>()[i]));
    }
  });
}

template <typename A>
void store_parameters(const A* from, const TensorView& to) {
  with_float(to.dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      to.as<T>()[i] = static_cast<T>(static_cast<Acc<T>>(from[i]));
    }
  });
}

}  // namespace plimsoll::cpu
