#include "plan/placement_strip.h"

#include <algorithm>
#include <limits>

namespace plimsoll::plan {

Strip::Strip(const Problem& problem) : problem_(problem) {
  // A bucket as wide as the typical item: most are in one or two, and few strangers are with them.
  std::int64_t total = 0;
  for (const Item& item : problem.items) total += item.sections();
  const auto count = static_cast<std::int64_t>(problem.items.size());
  width_ = static_cast<std::int32_t>(
      std::max<std::int64_t>(1, total / std::max<std::int64_t>(1, count)));
  buckets_.resize(static_cast<std::size_t>(bucket(problem.sections)) + 1);
  offsets_.assign(problem.items.size(), -1);
}

void Strip::insert(std::int32_t item, Units offset) {
  const Item& it = problem_.items[static_cast<std::size_t>(item)];
  for (std::int32_t b = bucket(it.first); b <= bucket(it.last - 1); ++b) {
    buckets_[static_cast<std::size_t>(b)].push_back(
        {offset, offset + it.size, it.first, it.last, item});
  }
  offsets_[static_cast<std::size_t>(item)] = offset;
}

void Strip::erase(std::int32_t item) {
  const Item& it = problem_.items[static_cast<std::size_t>(item)];
  for (std::int32_t b = bucket(it.first); b <= bucket(it.last - 1); ++b) {
    std::vector<Entry>& entries = buckets_[static_cast<std::size_t>(b)];
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.item == item; });
    *found = entries.back();
    entries.pop_back();
  }
  offsets_[static_cast<std::size_t>(item)] = -1;
}

void Strip::clear() {
  for (std::vector<Entry>& entries : buckets_) entries.clear();
  std::fill(offsets_.begin(), offsets_.end(), Units{-1});
}

const std::vector<Strip::Span>& Strip::beside(std::int32_t item) {
  const Item& it = problem_.items[static_cast<std::size_t>(item)];
  beside_.clear();
  const std::int32_t first = bucket(it.first);
  for (std::int32_t b = first; b <= bucket(it.last - 1); ++b) {
    const std::int32_t begin = b * width_;
    for (const Entry& entry : buckets_[static_cast<std::size_t>(b)]) {
      if (entry.first >= it.last || entry.last <= it.first) continue;
      // One that reaches over several buckets is taken from the first of them.
      if (b > first && entry.first < begin) continue;
      beside_.push_back({entry.begin, entry.end, entry.item});
    }
  }
  std::sort(beside_.begin(), beside_.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.item < b.item;
  });
  return beside_;
}

Units find_gap(const Problem& problem, const Item& item, const std::vector<Strip::Span>& spans,
               Fit fit, Units limit) {
  Units free = 0;  // everything below is decided
  Units best = -1;
  Units best_left = std::numeric_limits<Units>::max();
  for (const Strip::Span& span : spans) {
    if (span.begin > free) {
      const Units offset = problem.rounded(free, item);
      const Units left = span.begin - offset - item.size;
      if (left >= 0 && left < best_left && offset + item.size <= limit) {
        best = offset;
        best_left = left;
        if (fit == Fit::lowest || left == 0) return best;
      }
    }
    free = std::max(free, span.end);
  }
  if (best >= 0) return best;
  const Units offset = problem.rounded(free, item);
  return offset + item.size <= limit ? offset : -1;
}

}  // namespace plimsoll::plan
