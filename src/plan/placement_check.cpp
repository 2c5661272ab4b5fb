#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/plan/placement.h>

namespace plimsoll::plan {

void check_placement(std::span<const Buffer> buffers, const Placement& placement, Bytes alignment) {
  if (placement.offsets.size() != buffers.size()) {
    throw InternalError(fmt::format("[check_placement] {} offsets for {} buffers",
                                    placement.offsets.size(), buffers.size()));
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Bytes offset = placement.offsets[i];
    if (offset % std::max(alignment, buffers[i].alignment) != 0) {
      throw InternalError(
          fmt::format("[check_placement] buffer {} has the offset {}, not aligned "
                      "to {}",
                      i, offset, std::max(alignment, buffers[i].alignment)));
    }
    if (offset > placement.height || buffers[i].size > placement.height - offset) {
      throw InternalError(
          fmt::format("[check_placement] buffer {} of {} bytes at {} exceeds the "
                      "height {}",
                      i, buffers[i].size, offset, placement.height));
    }
    if (buffers[i].size > 0 && buffers[i].lower < buffers[i].upper) starts.push_back(i);
  }
  std::vector<std::size_t> ends = starts;
  std::sort(starts.begin(), starts.end(),
            [&](std::size_t a, std::size_t b) { return buffers[a].lower < buffers[b].lower; });
  std::sort(ends.begin(), ends.end(),
            [&](std::size_t a, std::size_t b) { return buffers[a].upper < buffers[b].upper; });

  std::map<Bytes, std::size_t> live;  // by offset
  const auto disjoint = [&](std::size_t below, std::size_t above) {
    if (placement.offsets[below] + buffers[below].size > placement.offsets[above]) {
      throw InternalError(fmt::format(
          "[check_placement] buffers {} and {} are live together and overlap at offset {}", below,
          above, placement.offsets[above]));
    }
  };
  auto end = ends.begin();
  for (const std::size_t i : starts) {
    for (; buffers[*end].upper <= buffers[i].lower; ++end) live.erase(placement.offsets[*end]);
    const auto above = live.lower_bound(placement.offsets[i]);
    if (above != live.end()) disjoint(i, above->second);
    if (above != live.begin()) disjoint(std::prev(above)->second, i);
    live.emplace_hint(above, placement.offsets[i], i);
  }
}

}  // namespace plimsoll::plan
