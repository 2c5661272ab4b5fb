#include "plan/placement_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace plimsoll::plan {
namespace {

constexpr Units kNoItem = std::numeric_limits<Units>::max();
/// States that are remembered as failed: at first, and at most.
constexpr std::size_t kFirstFailed = std::size_t{1} << 12;
constexpr std::size_t kMostFailed = std::size_t{1} << 20;
constexpr std::int64_t kStepsBetweenLooks = 64;
/// Of calls within each other, and of the stack they may take: a run that goes deeper is cut. The
/// second is reached first only where frames are large, as sanitizers make them.
constexpr std::size_t kMostDepth = 12'000;
constexpr std::ptrdiff_t kMostStack = 5 << 20;
constexpr std::int64_t kStepsOfShortRun = 500;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
  return z ^ (z >> 32);
}

/// A hash of 128 bits: equal ones are taken to be equal states.
struct StateKey {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  bool operator==(const StateKey&) const = default;
};

/// 1, 1, 2, 1, 1, 2, 4, ...: lengths of runs that waste little, whatever length would do.
std::int64_t luby(std::uint64_t i) {
  while (!std::has_single_bit(i + 1)) i -= std::bit_floor(i) - 1;
  return static_cast<std::int64_t>((i + 1) / 2);
}

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

struct PlacementSearch::State {
  State(const Problem& of, Units limit, std::uint64_t seed)
      : problem(of), capacity(limit), random(seed) {
    const std::size_t count = problem.items.size();
    low.resize(count);
    score.resize(count);
    near.resize(count);
    const std::size_t sections = index(problem.sections);
    top.resize(sections);
    base.resize(sections);
    candidates.resize(sections);
    reach.resize(sections);
    failed.resize(kFirstFailed);
    found.offsets.resize(count);
    // Items are in the order of their beginnings.
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        if (problem.items[j].first >= problem.items[i].last) break;
        near[i].push_back(static_cast<std::int32_t>(j));
        near[j].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  const Item& item(std::int32_t i) const { return problem.items[index(i)]; }

  void raise(std::int32_t i, Units to) {
    to = problem.rounded(to, item(i));
    Units& from = low[index(i)];
    if (to <= from) return;
    trail.emplace_back(i, from);
    from = to;
  }

  void undo(std::size_t mark) {
    for (; trail.size() > mark; trail.pop_back())
      low[index(trail.back().first)] = trail.back().second;
  }

  /// False if a section cannot hold its open items even where only that section counts. Leaves in
  /// `top` how high each section is then, in `base` its lowest offset.
  bool fits(const std::vector<std::int32_t>& open, std::int32_t first, std::int32_t last) {
    std::fill(top.begin() + first, top.begin() + last, Units{-1});
    for (const std::int32_t i : open) {
      const Item& it = item(i);
      const Units from = low[index(i)];
      Units highest = 0;
      for (std::size_t s = index(it.first); s < index(it.last); ++s) {
        Units t = top[s];
        if (t < 0) base[s] = from;
        t = (t < from ? from : t) + it.size;
        top[s] = t;
        highest = std::max(highest, t);
      }
      if (highest > capacity) return false;
    }
    return true;
  }

  StateKey key(const std::vector<std::int32_t>& open) const {
    StateKey sum;
    for (const std::int32_t i : open) {
      const std::uint64_t h = mix((static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u +
                                  static_cast<std::uint64_t>(low[index(i)]));
      sum.a += h;
      sum.b += mix(h ^ 0x5851f42d4c957f2du);
    }
    return sum;
  }

  /// The section to decide on: none of its candidates could have anything below it. Besides, it has
  /// few candidates; in every other run it is among the lowest, too.
  std::int32_t choose(const std::vector<std::int32_t>& open, std::int32_t first,
                      std::int32_t last) {
    std::fill(candidates.begin() + first, candidates.begin() + last, 0);
    constexpr std::int32_t kOpenBelow = 1 << 20;
    for (const std::int32_t i : open) {
      const Item& it = item(i);
      const Units from = low[index(i)];
      Units least = from;
      for (std::size_t s = index(it.first); s < index(it.last); ++s) {
        least = std::min(least, base[s]);
      }
      const std::int32_t weight = least == from ? 1 : kOpenBelow;
      for (std::size_t s = index(it.first); s < index(it.last); ++s) {
        if (base[s] == from) candidates[s] += weight;
      }
    }
    const auto rank = [&](std::int32_t s) {
      const std::size_t at = index(s);
      return std::tuple(lowest_first ? base[at] : 0, candidates[at], -top[at]);
    };
    std::int32_t best = -1;
    for (std::int32_t s = first; s < last; ++s) {
      if (top[index(s)] < 0 || candidates[index(s)] >= kOpenBelow) continue;
      if (best < 0 || rank(s) < rank(best)) best = s;
    }
    return best;
  }

  /// The lowest offset above `from` that an item of section `s` can have, if none lies at `from`.
  Units next_offset(const std::vector<std::int32_t>& open, std::int32_t s, Units from) {
    is_open.assign(problem.items.size(), 0);
    for (const std::int32_t i : open) is_open[index(i)] = 1;
    Units next = kNoItem;
    for (const std::int32_t i : open) {
      const Item& it = item(i);
      if (s < it.first || s >= it.last) continue;
      if (low[index(i)] > from) {
        next = std::min(next, low[index(i)]);
        continue;
      }
      // It lies on something that is not in this section.
      Units support = kNoItem;
      for (const std::int32_t j : near[index(i)]) {
        const Item& other = item(j);
        if (is_open[index(j)] == 0 || (s >= other.first && s < other.last)) continue;
        support = std::min(support, low[index(j)] + other.size);
      }
      if (support != kNoItem) next = std::min(next, problem.rounded(support, it));
    }
    return next;
  }

  /// It grows downwards on every machine that this runs on.
  static const char* stack_now() { return static_cast<const char*>(__builtin_frame_address(0)); }

  /// Places all of `open`, items of one connected piece or several. False if that cannot be, or if
  /// the run was cut.
  bool solve(std::size_t depth) {
    if (frames[depth].open.empty()) return true;
    if (--steps_left < 0) cut = true;
    if (++steps % kStepsBetweenLooks == 0 && deadline->passed()) cut = true;
    if (depth > kMostDepth || stack_begin - stack_now() > kMostStack) cut = true;
    if (cut) return false;
    if (frames.size() < depth + 2) frames.resize(depth + 2);
    std::vector<std::int32_t>& open = frames[depth].open;
    std::int32_t first = problem.sections;
    std::int32_t last = 0;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const std::int32_t i = open[k];
      first = std::min(first, item(i).first);
      last = std::max(last, item(i).last);
      // Nearly sorted already: only what was raised moves.
      std::size_t to = k;
      for (; to > 0 && low[index(open[to - 1])] > low[index(i)]; --to) open[to] = open[to - 1];
      open[to] = i;
    }
    if (!fits(open, first, last)) return false;
    if (const auto answer = solve_parts(depth, first, last)) return *answer;

    const StateKey state = key(open);
    if (failed[state.a & (failed.size() - 1)] == state) return false;
    if (branch(depth, first, last)) return true;
    if (!cut) remember(state);
    return false;
  }

  /// One for each place of the table, which grows with what there is to remember.
  void remember(const StateKey& state) {
    StateKey& slot = failed[state.a & (failed.size() - 1)];
    if (slot == StateKey{}) ++remembered;
    slot = state;
    if (remembered * 2 < failed.size() || failed.size() == kMostFailed) return;
    std::vector<StateKey> before(failed.size() * 4);
    before.swap(failed);
    remembered = 0;
    for (const StateKey& each : before) {
      if (each == StateKey{}) continue;
      failed[each.a & (failed.size() - 1)] = each;
      ++remembered;
    }
  }

  /// Solves what falls apart in time piece by piece; nothing if it is all one piece.
  std::optional<bool> solve_parts(std::size_t depth, std::int32_t first, std::int32_t last) {
    std::vector<std::int32_t>& open = frames[depth].open;
    std::fill(reach.begin() + first, reach.begin() + last, 0);
    for (const std::int32_t i : open) {
      std::int32_t& r = reach[index(item(i).first)];
      r = std::max(r, item(i).last);
    }
    std::vector<std::int32_t>& borders = frames[depth].borders;
    borders.clear();
    std::int32_t end = first;
    for (std::int32_t s = first; s < last; ++s) {
      if (reach[index(s)] == 0) continue;
      if (s >= end) borders.push_back(s);
      end = std::max(end, reach[index(s)]);
    }
    if (borders.size() <= 1) return std::nullopt;
    borders.push_back(last);
    for (std::size_t part = 0; part + 1 < borders.size(); ++part) {
      std::vector<std::int32_t>& piece = frames[depth + 1].open;
      piece.clear();
      for (const std::int32_t i : frames[depth].open) {
        if (item(i).first >= frames[depth].borders[part] &&
            item(i).first < frames[depth].borders[part + 1]) {
          piece.push_back(i);
        }
      }
      if (!solve(depth + 1)) return false;
    }
    return true;
  }

  bool branch(std::size_t depth, std::int32_t first, std::int32_t last) {
    const std::int32_t s = choose(frames[depth].open, first, last);
    const Units from = base[index(s)];
    std::vector<std::int32_t>& choices = frames[depth].choices;
    choices.clear();
    for (const std::int32_t i : frames[depth].open) {
      if (low[index(i)] == from && s >= item(i).first && s < item(i).last) choices.push_back(i);
    }
    std::sort(choices.begin(), choices.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(-score[index(a)], a) < std::pair(-score[index(b)], b);
    });
    const std::size_t mark = trail.size();
    for (std::size_t c = 0; c < frames[depth].choices.size(); ++c) {
      const std::int32_t chosen = frames[depth].choices[c];
      if (twin_was_tried(frames[depth].choices, c)) continue;
      std::vector<std::int32_t>& rest = frames[depth + 1].open;
      rest.clear();
      for (const std::int32_t i : frames[depth].open) {
        if (i == chosen) continue;
        rest.push_back(i);
        if (item(i).overlaps(item(chosen))) raise(i, from + item(chosen).size);
      }
      found.offsets[index(chosen)] = from;
      if (solve(depth + 1)) return true;
      undo(mark);
      if (cut) return false;
    }
    const Units next = next_offset(frames[depth].open, s, from);
    if (next > capacity) return false;
    std::vector<std::int32_t>& rest = frames[depth + 1].open;
    rest = frames[depth].open;
    for (const std::int32_t i : rest) {
      if (s >= item(i).first && s < item(i).last) raise(i, next);
    }
    const bool answer = solve(depth + 1);
    if (!answer) undo(mark);
    return answer;
  }

  bool twin_was_tried(const std::vector<std::int32_t>& choices, std::size_t c) const {
    const Item& it = item(choices[c]);
    for (std::size_t d = 0; d < c; ++d) {
      const Item& other = item(choices[d]);
      if (other.first == it.first && other.last == it.last && other.size == it.size &&
          other.align == it.align) {
        return true;
      }
    }
    return false;
  }

  /// Which candidate comes first: a matter of luck, so each run has another taste.
  void make_scores() {
    const double noise = runs < 3 ? 0 : 3 * random.uniform();
    const double by_size = runs < 3 ? (runs == 0 ? 0 : 1) : 1.5 * random.uniform();
    const double by_sections = runs < 3 ? (runs == 2 ? 0 : 1) : 1.5 * random.uniform();
    for (std::size_t i = 0; i < score.size(); ++i) {
      const Item& it = problem.items[i];
      score[i] = std::pow(static_cast<double>(it.size), by_size) *
                 std::pow(static_cast<double>(it.sections()), by_sections) *
                 (1 + noise * random.uniform());
    }
    lowest_first = runs % 2 == 1;
  }

  Outcome run_once(std::int64_t limit) {
    make_scores();
    ++runs;
    steps_left = limit;
    cut = false;
    trail.clear();
    std::fill(low.begin(), low.end(), Units{0});
    if (frames.empty()) frames.resize(1);
    frames[0].open.resize(problem.items.size());
    std::iota(frames[0].open.begin(), frames[0].open.end(), 0);
    stack_begin = stack_now();
    if (solve(0)) {
      found.height = height_of(problem, found.offsets);
      return Outcome::found;
    }
    return cut ? Outcome::gave_up : Outcome::impossible;
  }

  Outcome run(std::int64_t limit, Deadline& until) {
    deadline = &until;
    const std::int64_t unit =
        std::max(kStepsOfShortRun, 2 * static_cast<std::int64_t>(problem.items.size()));
    const std::int64_t end = steps + limit;
    do {
      const Outcome outcome =
          run_once(std::min(unit * luby(runs + 1), std::max(unit, end - steps)));
      if (outcome != Outcome::gave_up) return outcome;
    } while (steps < end && !until.was_passed());
    return Outcome::gave_up;
  }

  struct Frame {
    std::vector<std::int32_t> open;
    std::vector<std::int32_t> choices;
    std::vector<std::int32_t> borders;
  };

  const Problem& problem;
  Units capacity;
  PlacementRandom random;
  std::vector<Units> low;
  std::vector<double> score;
  std::vector<char> is_open;
  std::vector<std::vector<std::int32_t>> near;
  std::vector<Units> top, base;
  std::vector<std::int32_t> candidates, reach;
  std::vector<StateKey> failed;
  std::size_t remembered = 0;  ///< places of it that are taken
  std::vector<std::pair<std::int32_t, Units>> trail;
  std::deque<Frame> frames;
  Deadline* deadline = nullptr;
  Solution found;
  std::uint64_t runs = 0;
  std::int64_t steps = 0;
  std::int64_t steps_left = 0;
  bool cut = false;
  const char* stack_begin = nullptr;  ///< where a run's first call has its frame
  bool lowest_first = false;
};

PlacementSearch::PlacementSearch(const Problem& problem, Units capacity, std::uint64_t seed)
    : state_(std::make_unique<State>(problem, capacity, seed)) {}
PlacementSearch::~PlacementSearch() = default;

PlacementSearch::Outcome PlacementSearch::run(std::int64_t steps, Deadline& deadline) {
  return state_->run(steps, deadline);
}
const Solution& PlacementSearch::solution() const { return state_->found; }
std::int64_t PlacementSearch::steps() const { return state_->steps; }

}  // namespace plimsoll::plan
