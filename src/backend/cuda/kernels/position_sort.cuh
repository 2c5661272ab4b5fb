#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <bit>
#include <string>

#include <plimsoll/ops/scatter_workspace.h>

#include "backend/cuda/kernels/gather.cuh"
#include "backend/cuda/kernels/launch.h"

// Positions sorted by the index they name, which keeps their order among equals.

namespace plimsoll::cuda {
namespace {

using Number = std::uint32_t;

/// The workspace in parts.
struct SortParts {
  Number* keys[2];
  Number* order[2];
  Number* starts;  ///< one more than there are indices, if starts are looked for
  void* sorting;

  SortParts(void* workspace, const ops::ScatterWorkspace& w) {
    auto* at = static_cast<std::byte*>(workspace);
    const auto next = [&at](Bytes bytes) {
      void* const here = at;
      at += bytes;
      return here;
    };
    for (auto& array : keys) array = static_cast<Number*>(next(w.per_position));
    for (auto& array : order) array = static_cast<Number*>(next(w.per_position));
    starts = static_cast<Number*>(next(w.per_index));
    sorting = next(w.sorting);
  }
};

/// Keys are up to `extent` itself, which stands for positions that do not count.
inline int key_bits(std::int64_t extent) {
  return std::bit_width(static_cast<std::uint64_t>(extent));
}

struct SortedPositions {
  const Number* keys;
  const Number* order;
};

/// Sorts keys[0] and order[0] by key.
inline SortedPositions sort_positions(const SortParts& parts, const ops::ScatterWorkspace& sizes,
                                      std::int64_t positions, std::int64_t extent,
                                      cudaStream_t queue, const char* who) {
  cub::DoubleBuffer<Number> keys(parts.keys[0], parts.keys[1]);
  cub::DoubleBuffer<Number> order(parts.order[0], parts.order[1]);
  std::size_t bytes = sizes.sorting;
  check(cub::DeviceRadixSort::SortPairs(parts.sorting, bytes, keys, order,
                                        static_cast<int>(positions), 0, key_bits(extent), queue),
        who);
  return {keys.Current(), order.Current()};
}

/// The workspace's bytes, if the sort is content with what plans count on; InternalError if it is
/// not, InvalidArgument for more than it can number.
inline Bytes checked_sort_workspace(const ops::OpInputs& inputs, std::int64_t positions,
                                    std::int64_t extent, const ops::ScatterWorkspace& sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (positions >= kMost || extent >= kMost) {
    inputs.fail("on a GPU, indices and the dimension they are for must number less than 2^31");
  }
  if (positions == 0) return 0;
  const std::string who(inputs.def().name);
  cub::DoubleBuffer<Number> none(nullptr, nullptr);
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, none, static_cast<int>(positions), 0,
                                        key_bits(extent)),
        who.c_str());
  if (bytes > sizes.sorting) {
    throw InternalError("[" + who + "] sorting " + std::to_string(positions) + " positions takes " +
                        std::to_string(bytes) + " bytes, more than the " +
                        std::to_string(sizes.sorting) + " that plans count on");
  }
  return sizes.total();
}

}  // namespace
}  // namespace plimsoll::cuda
