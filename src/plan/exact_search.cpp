#include "plan/exact_search.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plimsoll::plan {
namespace {

constexpr std::size_t kMostWork = 20;
constexpr std::size_t kMostRoots = 48;
/// Positions looked at before a search is given up: a fraction of a second.
constexpr std::size_t kMostPositions = 400'000;

std::uint64_t bit(int root) { return std::uint64_t{1} << static_cast<unsigned>(root); }

/// The roots in memory, and above them the work that is next in order.
using Position = std::uint64_t;
constexpr Position position(int next, std::uint64_t live) {
  return static_cast<Position>(next) << kMostRoots | live;
}
int next_of(Position p) { return static_cast<int>(p >> kMostRoots); }
std::uint64_t live_of(Position p) { return p & ((std::uint64_t{1} << kMostRoots) - 1); }

/// Dijkstra's search over positions. What a path costs is the time of runs beyond the first of each
/// node; or, without a target, the most memory at any moment of it.
class Walk {
 public:
  Walk(const StepModel& model, const std::vector<int>& again_until,
       const std::vector<std::uint64_t>& useful, std::optional<Bytes> target)
      : model_(model), again_until_(again_until), useful_(useful), target_(target) {}

  ExactSearch::Found run() {
    std::uint64_t given = 0;
    std::uint64_t wanted = 0;
    for (std::size_t r = 0; r < model_.roots.size(); ++r) {
      if (model_.roots[r].producer < 0) given |= std::uint64_t{1} << r;
      if (model_.roots[r].output) wanted |= std::uint64_t{1} << r;
    }
    const Position start = position(0, given & useful_[0]);
    arrive(start, {.cost = 0, .from = start});
    std::size_t looked = 0;
    while (!open_.empty()) {
      const auto [cost, behind, here] = open_.top();
      open_.pop();
      if (cost > known_.at(here).cost) continue;
      if (++looked > kMostPositions) return {};
      if (next_of(here) == static_cast<int>(model_.work.size())) {
        if ((live_of(here) & wanted) == wanted) return path_to(here, cost);
        continue;
      }
      expand(here, cost);
    }
    return {.complete = true};
  }

 private:
  struct Step {
    double cost = 0;
    Position from = 0;
    int work = -1;  ///< -1: something was dropped
    std::uint64_t taken = 0;
  };

  Bytes bytes_of(std::uint64_t roots) const {
    Bytes bytes = 0;
    for (std::size_t r = 0; r < model_.roots.size(); ++r) {
      if ((roots >> r & 1U) != 0) bytes += model_.roots[r].bytes;
    }
    return bytes;
  }

  void expand(Position here, double cost) {
    const int next = next_of(here);
    const std::uint64_t live = live_of(here);
    const Bytes bytes = bytes_of(live);
    bool tight = !target_;
    for (int w = 0; w <= next; ++w) {
      const Work& work = model_.work[static_cast<std::size_t>(w)];
      if (w < next) {
        if (next > again_until_[static_cast<std::size_t>(w)]) continue;
        const bool helps = std::any_of(work.outputs.begin(), work.outputs.end(), [&](int r) {
          return (live & bit(r)) == 0 && (useful_[static_cast<std::size_t>(next)] & bit(r)) != 0;
        });
        if (!helps) continue;
      }
      const bool ready = std::all_of(work.inputs.begin(), work.inputs.end(),
                                     [&](int r) { return (live & bit(r)) != 0; });
      if (ready) tight = !launch(here, w, bytes, cost, 0, 0, 0) || tight;
    }
    // As long as everything has room, dropping can wait.
    if (!tight) return;
    for (std::uint64_t rest = live; rest != 0; rest &= rest - 1) {
      const std::uint64_t dropped = rest & (~rest + 1);
      arrive(position(next, live & ~dropped), {.cost = cost, .from = here});
    }
  }

  /// Runs a work with every choice of what it writes over what. False if some choice has no room.
  bool launch(Position here, int w, Bytes bytes, double cost, std::size_t pair,
              std::uint64_t consumed, std::uint64_t placed) {
    const Work& work = model_.work[static_cast<std::size_t>(w)];
    if (pair < work.in_place.size()) {
      const auto [to, from] = work.in_place[pair];
      bool room = launch(here, w, bytes, cost, pair + 1, consumed, placed);
      if ((consumed & bit(from)) == 0 && (placed & bit(to)) == 0) {
        room =
            launch(here, w, bytes, cost, pair + 1, consumed | bit(from), placed | bit(to)) && room;
      }
      return room;
    }
    const int next = next_of(here);
    const std::uint64_t live = live_of(here) & ~consumed;
    std::uint64_t after = live;
    Step step{.from = here, .work = w};
    Bytes needed = bytes + work.workspace;
    for (std::size_t o = 0; o < work.outputs.size(); ++o) {
      const int r = work.outputs[o];
      if ((placed & bit(r)) == 0) needed += model_.roots[static_cast<std::size_t>(r)].bytes;
      if ((live & bit(r)) == 0) step.taken |= std::uint64_t{1} << o;
      after |= bit(r);
    }
    if (target_ && needed > *target_) return false;
    step.cost = target_ ? cost + (w < next ? work.seconds : 0)
                        : std::max(cost, static_cast<double>(needed));
    const int then = w == next ? next + 1 : next;
    arrive(position(then, after & useful_[static_cast<std::size_t>(then)]), step);
    return true;
  }

  void arrive(Position there, const Step& step) {
    const auto [it, fresh] = known_.try_emplace(there, step);
    if (!fresh) {
      if (it->second.cost <= step.cost) return;
      it->second = step;
    }
    // Of equal ones the farthest first: most steps need nothing more than that.
    open_.emplace(step.cost, static_cast<int>(model_.work.size()) - next_of(there), there);
  }

  ExactSearch::Found path_to(Position there, double cost) const {
    std::vector<Run> runs;
    for (Position p = there;;) {
      const Step& step = known_.at(p);
      if (step.work >= 0) runs.push_back({step.work, step.taken});
      if (step.from == p) break;
      p = step.from;
    }
    std::reverse(runs.begin(), runs.end());
    return {.complete = true,
            .runs = std::move(runs),
            .peak = target_ ? *target_ : static_cast<Bytes>(cost)};
  }

  const StepModel& model_;
  const std::vector<int>& again_until_;
  const std::vector<std::uint64_t>& useful_;
  std::optional<Bytes> target_;
  std::unordered_map<Position, Step> known_;
  using Open = std::tuple<double, int, Position>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
};

}  // namespace

bool ExactSearch::suits(const StepModel& model) {
  return model.work.size() <= kMostWork && model.roots.size() <= kMostRoots;
}

ExactSearch::ExactSearch(const StepModel& model, std::vector<char> again) : model_(model) {
  const int count = static_cast<int>(model.work.size());
  for (int w = 0; w < count; ++w) {
    int until = again[static_cast<std::size_t>(w)] != 0 ? count : 0;
    for (int later = w + 1; later < until; ++later) {
      // State that it reads is there until that one has run.
      const std::vector<int>& reads = model.work[static_cast<std::size_t>(w)].reads_state;
      const std::vector<int>& writes = model.work[static_cast<std::size_t>(later)].writes_state;
      if (std::find_first_of(reads.begin(), reads.end(), writes.begin(), writes.end()) !=
          reads.end()) {
        until = later;
      }
    }
    again_until_.push_back(until);
  }
  for (int next = 0; next <= count; ++next) {
    std::uint64_t useful = 0;
    for (std::size_t r = 0; r < model.roots.size(); ++r) {
      const Root& root = model.roots[r];
      if (root.output || (!root.uses.empty() && root.uses.back() >= next)) {
        useful |= std::uint64_t{1} << r;
      }
    }
    // What makes something useful again is useful; producers come before their readers.
    for (int w = std::min(next, count) - 1; w >= 0; --w) {
      const Work& work = model.work[static_cast<std::size_t>(w)];
      if (next > again_until_[static_cast<std::size_t>(w)]) continue;
      const bool makes = std::any_of(work.outputs.begin(), work.outputs.end(),
                                     [&](int r) { return (useful & bit(r)) != 0; });
      for (const int r : work.inputs) useful |= makes ? bit(r) : 0;
    }
    useful_.push_back(useful);
  }
}

ExactSearch::Found ExactSearch::fastest(Bytes target) const {
  return Walk(model_, again_until_, useful_, target).run();
}

ExactSearch::Found ExactSearch::smallest() const {
  return Walk(model_, again_until_, useful_, std::nullopt).run();
}

}  // namespace plimsoll::plan
