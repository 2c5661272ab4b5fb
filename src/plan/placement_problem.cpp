#include "plan/placement_problem.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::plan {
namespace {

constexpr Bytes kMaxTotal = Bytes{1} << 61;
constexpr Bytes kMaxAlignment = Bytes{1} << 32;

void check_alignment(Bytes alignment) {
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    throw InvalidArgument(fmt::format(
        "[place] the alignment {} is not a power of two from 1 to 2^32; use one, such as 256",
        alignment));
  }
}

void check(std::span<const Buffer> buffers, Bytes alignment) {
  check_alignment(alignment);
  if (buffers.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() / 4)) {
    throw InvalidArgument(fmt::format("[place] {} buffers are too many", buffers.size()));
  }
  Bytes total = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.upper < buffer.lower) {
      throw InvalidArgument(
          fmt::format("[place] buffer {} has lower {} and upper {}; it is live in [lower, upper)",
                      i, buffer.lower, buffer.upper));
    }
    check_alignment(buffer.alignment);
    const Bytes rounding = std::max(alignment, buffer.alignment);
    if (buffer.size > kMaxTotal || rounding > kMaxTotal - total - buffer.size) {
      throw InvalidArgument(fmt::format(
          "[place] the buffers up to {} have more than 2^61 bytes together; use fewer", i));
    }
    total += align_up(buffer.size, rounding);
    if (total > kMaxTotal) {
      throw InvalidArgument(fmt::format(
          "[place] the buffers up to {} have more than 2^61 bytes together; use fewer", i));
    }
  }
}

}  // namespace

Split split(std::span<const Buffer> buffers, Bytes alignment) {
  check(buffers, alignment);
  Split result;
  std::vector<std::int32_t> starts;
  Bytes unit = kMaxAlignment;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0 || buffers[i].lower == buffers[i].upper) continue;
    starts.push_back(static_cast<std::int32_t>(i));
    unit = std::min(unit, std::max(alignment, buffers[i].alignment));
  }
  if (starts.empty()) return result;
  result.unit = unit;
  const auto at = [&](std::int32_t i) -> const Buffer& {
    return buffers[static_cast<std::size_t>(i)];
  };
  std::vector<std::int32_t> ends = starts;
  std::stable_sort(starts.begin(), starts.end(),
                   [&](auto a, auto b) { return at(a).lower < at(b).lower; });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](auto a, auto b) { return at(a).upper < at(b).upper; });

  // A section closes where a buffer ends after another has begun: the set live then is in no other.
  std::vector<std::int32_t> item_of(buffers.size());
  std::size_t live = 0;
  bool grown = false;
  auto start = starts.begin();
  for (const std::int32_t ending : ends) {
    for (; start != starts.end() && at(*start).lower < at(ending).upper; ++start) {
      if (live == 0) result.problems.emplace_back();
      Problem& problem = result.problems.back();
      const Buffer& buffer = at(*start);
      item_of[static_cast<std::size_t>(*start)] = static_cast<std::int32_t>(problem.items.size());
      problem.items.push_back(
          {.size = static_cast<Units>(align_up(buffer.size, unit) / unit),
           .align = static_cast<Units>(std::max(alignment, buffer.alignment) / unit),
           .first = problem.sections,
           .last = 0,
           .source = *start});
      ++live;
      grown = true;
    }
    Problem& problem = result.problems.back();
    if (grown) ++problem.sections;
    grown = false;
    problem.items[static_cast<std::size_t>(item_of[static_cast<std::size_t>(ending)])].last =
        problem.sections;
    --live;
  }
  for (Problem& problem : result.problems) {
    const std::vector<Units> loads = section_loads(problem);
    problem.lower_bound = *std::max_element(loads.begin(), loads.end());
  }
  return result;
}

std::vector<Units> section_loads(const Problem& problem) {
  std::vector<Units> loads(static_cast<std::size_t>(problem.sections) + 1);
  for (const Item& item : problem.items) {
    loads[static_cast<std::size_t>(item.first)] += item.size;
    loads[static_cast<std::size_t>(item.last)] -= item.size;
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  return loads;
}

Units height_of(const Problem& problem, const std::vector<Units>& offsets) {
  Units height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    height = std::max(height, offsets[i] + problem.items[i].size);
  }
  return height;
}

}  // namespace plimsoll::plan
