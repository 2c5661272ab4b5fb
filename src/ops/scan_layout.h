#pragma once

#include <array>
#include <limits>
#include <vector>

#include <plimsoll/ops/scan.h>

namespace plimsoll::ops {

/// Where a step's values lie in scratch memory, which all steps use in turn. It follows from the
/// body alone.
struct ScanLayout {
  static constexpr Bytes kElsewhere = std::numeric_limits<Bytes>::max();

  /// The value whose memory a value is: its own but for views.
  std::vector<int> roots;
  /// Of each value that only a step needs; kElsewhere for inputs, results and views.
  std::vector<Bytes> offsets;
  /// Of each state that is not recorded: what a step reads and what it writes, in turn.
  std::vector<std::array<Bytes, 2>> turns;
  Bytes bytes = 0;

  ScanLayout(const ScanBody& body, const std::vector<std::int64_t>& recorded);
};

}  // namespace plimsoll::ops
