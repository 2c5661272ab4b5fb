#include "plan/placement_ejection.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::plan {

namespace {

constexpr std::int64_t kStepsBetweenClocks = 64;
constexpr double kDearer = 1.25;
constexpr double kDearest = 1e12;

}  // namespace

EjectionSearch::EjectionSearch(const Problem& problem, std::uint64_t seed)
    : problem_(problem), random_(seed), strip_(problem) {}

bool EjectionSearch::run(const Solution& from, Units target, std::int64_t steps,
                         Deadline& deadline) {
  const std::size_t count = problem_.items.size();
  strip_.clear();
  open_.clear();
  price_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Item& item = problem_.items[i];
    if (item.size > target) return false;
    price_[i] = std::sqrt(static_cast<double>(item.size) * static_cast<double>(item.sections()));
    if (from.offsets[i] + item.size > target) {
      open_.push_back(static_cast<std::int32_t>(i));
    } else {
      strip_.insert(static_cast<std::int32_t>(i), from.offsets[i]);
    }
  }
  for (std::int64_t step = 0; !open_.empty(); ++step) {
    if (step == steps) return false;
    if (++steps_ % kStepsBetweenClocks == 0 && deadline.passed()) return false;
    // The dearest first: what is left for the end goes into small gaps.
    std::size_t next = 0;
    for (std::size_t k = 1; k < open_.size(); ++k) {
      if (price_[static_cast<std::size_t>(open_[k])] >
          price_[static_cast<std::size_t>(open_[next])]) {
        next = k;
      }
    }
    const std::int32_t item = open_[next];
    open_[next] = open_.back();
    open_.pop_back();
    insert(item, target);
  }
  solution_.offsets = strip_.offsets();
  solution_.height = height_of(problem_, solution_.offsets);
  return true;
}

void EjectionSearch::insert(std::int32_t item, Units target) {
  const Item& it = problem_.items[static_cast<std::size_t>(item)];
  const std::vector<Strip::Span>& spans = strip_.beside(item);
  const Fit fit = random_.below(2) == 0 ? Fit::lowest : Fit::tightest;
  Units offset = find_gap(problem_, it, spans, fit, target);
  if (offset < 0) {
    double& price = price_[static_cast<std::size_t>(item)];
    price = std::min(price * kDearer, kDearest);
    offset = cheapest(it, spans, target);
    for (const Strip::Span& span : spans) {
      if (span.begin < offset + it.size && offset < span.end) {
        open_.push_back(span.item);
        strip_.erase(span.item);
      }
    }
  }
  strip_.insert(item, offset);
}

/// The offset where what is in the way costs least; a random one of equals.
Units EjectionSearch::cheapest(const Item& item, const std::vector<Strip::Span>& spans,
                               Units target) {
  const Units highest = (target - item.size) & ~(item.align - 1);
  // In the way of offset x is what has begin - size < x < end; the cost changes only at those.
  events_.clear();
  for (const Strip::Span& span : spans) {
    const double cost = price_[static_cast<std::size_t>(span.item)];
    events_.push_back({std::max<Units>(0, span.begin - item.size + 1), cost});
    events_.push_back({span.end, -cost});
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.at < b.at; });
  Units best = 0;
  double least = std::numeric_limits<double>::infinity();
  std::uint64_t equals = 0;
  double cost = 0;
  const auto consider = [&](Units from, Units to) {  // every offset in [from, to] costs the same
    from = problem_.rounded(from, item);
    to = std::min(to, highest) & ~(item.align - 1);
    if (from > to || cost > least * 1.000001) return;
    if (cost < least * 0.999999) equals = 0;
    least = std::min(least, cost);
    for (const Units at : {from, to}) {
      if (random_.below(++equals) == 0) best = at;
    }
  };
  Units from = 0;
  for (std::size_t k = 0; k < events_.size();) {
    const Units at = events_[k].at;
    if (at > from) consider(from, at - 1);
    for (; k < events_.size() && events_[k].at == at; ++k) cost += events_[k].cost;
    from = at;
  }
  consider(from, highest);
  return best;
}

}  // namespace plimsoll::plan
