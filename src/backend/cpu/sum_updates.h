#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/cpu/clones.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

/// Columns that are added up at once.
constexpr std::int64_t kSumColumns = 256;

/// sums[i] = the sum of updates[order[p] * inner + i] over p in [begin, end), in that order, for i
/// in [0, count), which is at most kSumColumns.
template <typename T>
PLIMSOLL_CLONES void sum_updates(Acc<T>* sums, const T* updates, const std::int64_t* order,
                                 std::int64_t begin, std::int64_t end, std::int64_t inner,
                                 std::int64_t count) {
  std::fill_n(sums, count, Acc<T>(0));
  for (std::int64_t p = begin; p < end; ++p) {
    const T* update = updates + order[p] * inner;
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] = static_cast<Acc<T>>(sums[i] + widen(update[i]));
    }
  }
}

}  // namespace
}  // namespace plimsoll::cpu
