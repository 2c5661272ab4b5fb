#include "plan/placement_orders.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace plimsoll::plan {
namespace {

/// Items with larger keys come first.
using Key = std::pair<double, double>;

std::vector<std::int32_t> order_by(const Problem& problem,
                                   const std::function<Key(const Item&)>& key) {
  std::vector<Key> keys(problem.items.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key(problem.items[i]);
  std::vector<std::int32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
  });
  return order;
}

/// For each item the largest load of a section it is live in.
std::vector<Units> peaks(const Problem& problem) {
  // Maxima over ranges of 2^k sections, so that any range is two of them.
  std::vector<std::vector<Units>> maxima = {section_loads(problem)};
  for (std::size_t reach = 1; 2 * reach <= maxima[0].size(); reach *= 2) {
    const std::vector<Units>& last = maxima.back();
    std::vector<Units> next(maxima[0].size() - 2 * reach + 1);
    for (std::size_t s = 0; s < next.size(); ++s) next[s] = std::max(last[s], last[s + reach]);
    maxima.push_back(std::move(next));
  }
  std::vector<Units> result;
  result.reserve(problem.items.size());
  for (const Item& item : problem.items) {
    const auto length = static_cast<std::size_t>(item.sections());
    const auto k = static_cast<std::size_t>(std::bit_width(length)) - 1;
    const std::size_t end = static_cast<std::size_t>(item.last) - (std::size_t{1} << k);
    result.push_back(std::max(maxima[k][static_cast<std::size_t>(item.first)], maxima[k][end]));
  }
  return result;
}

/// Places with the lowest fit by way of one list sorted by offset, which is left at the first gap:
/// for few items that is faster than gathering and sorting what is beside each.
Solution place_few(const Problem& problem, const std::vector<std::int32_t>& order) {
  struct Entry {
    Units begin;
    Units end;
    std::int32_t first;
    std::int32_t last;
  };
  std::vector<Entry> placed;
  placed.reserve(order.size());
  Solution solution;
  solution.offsets.resize(order.size());
  for (const std::int32_t i : order) {
    const Item& item = problem.items[static_cast<std::size_t>(i)];
    Units offset = 0;
    for (const Entry& entry : placed) {
      if (entry.begin >= offset + item.size) break;
      if (entry.end <= offset || entry.first >= item.last || entry.last <= item.first) continue;
      offset = problem.rounded(entry.end, item);
    }
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [](Units o, const Entry& entry) { return o < entry.begin; });
    placed.insert(at, {offset, offset + item.size, item.first, item.last});
    solution.offsets[static_cast<std::size_t>(i)] = offset;
    solution.height = std::max(solution.height, offset + item.size);
  }
  return solution;
}

}  // namespace

Solution place_in_order(const Problem& problem, const std::vector<std::int32_t>& order, Fit fit,
                        Strip& strip) {
  constexpr std::size_t kFew = 4000;
  if (fit == Fit::lowest && order.size() <= kFew) return place_few(problem, order);
  strip.clear();
  Solution solution;
  for (const std::int32_t i : order) {
    const Item& item = problem.items[static_cast<std::size_t>(i)];
    const Units offset =
        find_gap(problem, item, strip.beside(i), fit, std::numeric_limits<Units>::max());
    strip.insert(i, offset);
    solution.height = std::max(solution.height, offset + item.size);
  }
  solution.offsets = strip.offsets();
  return solution;
}

Solution place_by_heuristics(const Problem& problem, Units enough, int orders) {
  const std::vector<Units> peak = peaks(problem);
  const Item* const begin = problem.items.data();
  const auto size = [](const Item& item) { return static_cast<double>(item.size); };
  const auto length = [](const Item& item) { return static_cast<double>(item.sections()); };
  const auto load = [&](const Item& item) {
    return static_cast<double>(peak[static_cast<std::size_t>(&item - begin)]);
  };
  const std::vector<std::function<Key(const Item&)>> keys = {
      [&](const Item& item) { return Key(size(item), length(item)); },
      [&](const Item& item) { return Key(size(item) * length(item), size(item)); },
      [&](const Item& item) { return Key(load(item), size(item)); },
      [&](const Item& item) { return Key(load(item) * size(item), length(item)); },
      [&](const Item& item) { return Key(length(item), size(item)); },
      [&](const Item& item) { return Key(-static_cast<double>(item.first), length(item)); },
  };
  Strip strip(problem);
  Solution best;
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    for (const auto& key : keys) {
      Solution next = place_in_order(problem, order_by(problem, key), fit, strip);
      if (best.offsets.empty() || next.height < best.height) best = std::move(next);
      if (best.height <= std::max(enough, problem.lower_bound) || --orders == 0) return best;
    }
  }
  return best;
}

}  // namespace plimsoll::plan
