#include "plan/recompute_search.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "plan/launch_seconds.h"

namespace plimsoll::plan {
namespace {

constexpr Bytes kNever = std::numeric_limits<Bytes>::max();
constexpr int kMostSegments = 64;
constexpr int kDescents = 8;
/// With copies to weigh, a search takes several times as long.
constexpr int kDescentsWithHost = 1;
/// Tasks that one polish simulates at most.
constexpr std::size_t kPolishTasks = 1'000'000;
/// And a whole search: some seconds. Only steps of thousands of nodes come near it.
constexpr std::int64_t kSearchTasks = 100'000'000;

bool better(const Choice& a, const Choice& b, Bytes target) {
  const bool a_fits = a.peak <= target;
  const bool b_fits = b.peak <= target;
  if (a_fits != b_fits) return a_fits;
  if (!a_fits) return a.peak < b.peak;
  return a.seconds < b.seconds || (a.seconds == b.seconds && a.peak < b.peak);
}

/// Which works may run again; nothing if some must, which a complete search does not know of.
std::optional<std::vector<char>> may_run_again(const StepModel& model,
                                               const std::vector<signed char>& pinned) {
  std::vector<char> again(model.work.size(), 0);
  for (std::size_t w = 0; w < model.work.size(); ++w) {
    const Work& work = model.work[w];
    again[w] = !work.outputs.empty() && work.writes_state.empty();
    for (const int r : work.outputs) {
      const Root& root = model.roots[static_cast<std::size_t>(r)];
      const signed char pin = pinned.empty() ? 0 : pinned[static_cast<std::size_t>(r)];
      if (pin < 0) return std::nullopt;
      if (!root.droppable || root.output || pin > 0) again[w] = 0;
    }
  }
  return again;
}

}  // namespace

RecomputeSearch::RecomputeSearch(const StepModel& model, const std::vector<signed char>& pinned,
                                 bool completely)
    : model_(model), scheduler_(model), movable_(model.roots.size(), 0) {
  // What gradients wait for is made before the first of them; later values are used up at once.
  std::vector<char> keep(model.roots.size(), kKept);
  for (std::size_t r = 0; r < model.roots.size(); ++r) {
    const Root& root = model.roots[r];
    if (root.output || root.state || root.producer >= model.first_backward) continue;
    movable_[r] = model.host_room >= root.bytes && root.bytes >= kLeastMoved &&
                  root.drop_after < root.last_use && (pinned.empty() || pinned[r] == 0);
    if (!root.droppable) continue;
    if (!pinned.empty() && pinned[r] > 0) continue;
    if (!pinned.empty() && pinned[r] < 0) {
      keep[r] = kDropped;
      continue;
    }
    candidates_.push_back(static_cast<int>(r));
  }
  all_[0] = evaluate(keep);
  tight_ = true;
  all_[1] = copies() ? evaluate(keep) : all_[0];
  tight_ = false;
  // A complete search knows nothing of the host's memory.
  if (!completely || model.away_bytes != 0 || !ExactSearch::suits(model)) return;
  if (auto again = may_run_again(model, pinned)) exact_.emplace(model, std::move(*again));
}

Choice RecomputeSearch::evaluate(const std::vector<char>& keep) {
  scheduler_.set_tight(tight_);
  const Schedule& schedule = scheduler_.run(keep);
  left_ -= static_cast<std::int64_t>(schedule.tasks.size());
  return {.keep = keep,
          .runs = {},
          .tight = tight_,
          .peak = schedule.feasible ? schedule.peak : kNever,
          .seconds = schedule.seconds - (count_waits_ ? 0 : schedule.wait_seconds),
          .waits = schedule.wait_seconds};
}

bool RecomputeSearch::drop(std::vector<char>& keep, int root, int needed_at) const {
  const Root& r = model_.roots[static_cast<std::size_t>(root)];
  if (!r.droppable || r.output || keep[static_cast<std::size_t>(root)] != kKept) return false;
  keep[static_cast<std::size_t>(root)] = kDropped;
  // Inputs that nobody else needs for as long are computed again too, rather than kept for this.
  for (const int input : model_.work[static_cast<std::size_t>(r.producer)].inputs) {
    const Root& in = model_.roots[static_cast<std::size_t>(input)];
    if (in.last_use < needed_at) drop(keep, input, needed_at);
  }
  return true;
}

Choice RecomputeSearch::greedy(Choice best, Bytes target) {
  struct Move {
    int root;
    bool away;
    int needed_at;
    double price;
  };
  // By root: which moves led nowhere.
  std::vector<char> no_drop(model_.roots.size(), 0);
  std::vector<char> no_copy(model_.roots.size(), 0);
  while (best.peak > target && left_ > 0) {
    scheduler_.set_tight(tight_);
    const Schedule& schedule = scheduler_.run(best.keep);
    const int at = schedule.peak_task;
    std::vector<Move> drops;
    std::vector<Move> copies;
    for (const Instance& instance : schedule.instances) {
      const auto r = static_cast<std::size_t>(instance.root);
      const Root& root = model_.roots[r];
      if (instance.born >= at || instance.last <= at || best.keep[r] != kKept) continue;
      if (root.output || root.bytes == 0) continue;
      const auto next = std::upper_bound(root.uses.begin(), root.uses.end(), root.drop_after);
      if (next == root.uses.end()) continue;
      if (root.droppable && no_drop[r] == 0) {
        drops.push_back({instance.root, false, *next,
                         model_.work[static_cast<std::size_t>(root.producer)].seconds /
                             static_cast<double>(root.bytes)});
      }
      // What is made first and needed last has the most time for its copies.
      if (movable_[r] != 0 && no_copy[r] == 0) {
        copies.push_back({instance.root, true, *next, static_cast<double>(root.producer)});
      }
    }
    if (drops.empty() && copies.empty()) break;
    const auto cheaper = [](const Move& a, const Move& b) {
      return a.price != b.price ? a.price < b.price : a.root < b.root;
    };
    std::sort(drops.begin(), drops.end(), cheaper);
    std::sort(copies.begin(), copies.end(), cheaper);
    // The cheapest few by estimate, judged by what they really do.
    drops.resize(std::min<std::size_t>(drops.size(), 6));
    copies.resize(std::min<std::size_t>(copies.size(), 2));
    drops.insert(drops.end(), copies.begin(), copies.end());
    Choice step;
    double step_price = std::numeric_limits<double>::max();
    for (const Move& move : drops) {
      std::vector<char> keep = best.keep;
      if (move.away) {
        keep[static_cast<std::size_t>(move.root)] = kAway;
      } else {
        drop(keep, move.root, move.needed_at);
      }
      Choice choice = evaluate(keep);
      if (choice.peak >= best.peak) {
        (move.away ? no_copy : no_drop)[static_cast<std::size_t>(move.root)] = 1;
        continue;
      }
      const double price = (choice.seconds - best.seconds) /
                           static_cast<double>(best.peak - std::max(choice.peak, target));
      if (price < step_price) {
        step = std::move(choice);
        step_price = price;
      }
    }
    if (step_price < std::numeric_limits<double>::max()) best = std::move(step);
  }
  return best;
}

std::vector<RecomputeSearch::Made> RecomputeSearch::dropped_by_run(
    const std::vector<char>& keep) const {
  std::vector<Made> all;
  std::vector<int> at(model_.work.size(), -1);
  for (const int r : candidates_) {
    if (keep[static_cast<std::size_t>(r)] == kKept) continue;
    int& made = at[static_cast<std::size_t>(model_.roots[static_cast<std::size_t>(r)].producer)];
    if (made < 0) {
      made = static_cast<int>(all.size());
      all.emplace_back();
    }
    all[static_cast<std::size_t>(made)].roots.push_back(r);
  }
  for (Made& made : all) {
    Bytes bytes = 0;
    for (const int r : made.roots) bytes += model_.roots[static_cast<std::size_t>(r)].bytes;
    const int run = model_.roots[static_cast<std::size_t>(made.roots.front())].producer;
    made.price = model_.work[static_cast<std::size_t>(run)].seconds /
                 static_cast<double>(std::max<Bytes>(bytes, 1));
  }
  return all;
}

Choice RecomputeSearch::improve(Choice from, Bytes target) {
  if (from.peak > target) return from;
  // What one run makes is kept together: as long as one is missing, the run comes again. Longest
  // computed again per byte first; whole stretches of the list at once while that fits.
  std::vector<Made> dropped = dropped_by_run(from.keep);
  std::ranges::stable_sort(dropped, std::greater(), &Made::price);
  Choice best = std::move(from);
  const auto try_to_keep = [&](const std::vector<int>& roots) {
    std::vector<char> keep = best.keep;
    for (const int r : roots) keep[static_cast<std::size_t>(r)] = kKept;
    Choice choice = evaluate(keep);
    const bool kept = choice.peak <= target && choice.seconds <= best.seconds;
    if (kept) best = std::move(choice);
    return kept;
  };
  std::size_t first = 0;
  std::size_t length = dropped.size();
  while (first < dropped.size() && left_ > 0) {
    length = std::min(length, dropped.size() - first);
    std::vector<int> roots;
    for (std::size_t i = first; i < first + length; ++i) {
      roots.insert(roots.end(), dropped[i].roots.begin(), dropped[i].roots.end());
    }
    if (try_to_keep(roots)) {
      first += length;
      length *= 2;
    } else if (length > 1) {
      length /= 2;
    } else {
      for (const int r : roots) {
        if (roots.size() > 1) try_to_keep({r});
      }
      ++first;
    }
  }
  return best;
}

const std::vector<Choice>& RecomputeSearch::segmented() {
  std::vector<Choice>& found = segmented_[tight_ ? 1 : 0];
  if (!found.empty()) return found;
  // Up to where the values that the second half of the step waits for are made.
  std::vector<double> weight(model_.work.size() + 1, 0);
  Bytes total = 0;
  for (const int r : candidates_) {
    const Root& root = model_.roots[static_cast<std::size_t>(r)];
    if (root.drop_after == root.last_use) continue;
    weight[static_cast<std::size_t>(root.producer)] += static_cast<double>(root.bytes);
    total += root.bytes;
  }
  if (total == 0) return found;
  // Bytes that cross each position on their way forward.
  std::vector<double> width(model_.work.size() + 1, 0);
  for (const int r : candidates_) {
    const Root& root = model_.roots[static_cast<std::size_t>(r)];
    for (int p = root.producer; p < root.drop_after; ++p) {
      width[static_cast<std::size_t>(p)] += static_cast<double>(root.bytes);
    }
  }
  for (int segments = 1; segments <= kMostSegments; segments += 1 + segments / 8) {
    std::vector<int> cuts;
    double sum = 0;
    int next = 1;
    std::size_t window_begin = 0;
    for (std::size_t p = 0; p < model_.work.size() && next < segments; ++p) {
      sum += weight[p];
      if (sum < static_cast<double>(total) * next / segments) continue;
      // The narrowest place since the last cut, in the second half of the stretch.
      const std::size_t low = window_begin + (p - window_begin) / 2;
      std::size_t place = p;
      for (std::size_t q = low; q <= p; ++q) {
        if (width[q] < width[place]) place = q;
      }
      cuts.push_back(static_cast<int>(place));
      window_begin = p;
      ++next;
    }
    std::vector<char> keep = all_[0].keep;
    for (const int r : candidates_) {
      const Root& root = model_.roots[static_cast<std::size_t>(r)];
      const bool crosses = std::any_of(cuts.begin(), cuts.end(), [&](int cut) {
        return root.producer <= cut && cut < root.drop_after;
      });
      keep[static_cast<std::size_t>(r)] = crosses ? kKept : kDropped;
    }
    found.push_back(evaluate(keep));
  }
  return found;
}

std::optional<Choice> RecomputeSearch::exact(Bytes target) {
  if (!exact_) return std::nullopt;
  ExactSearch::Found found = exact_->fastest(target);
  if (!found.runs) return std::nullopt;
  Choice choice{.keep = all_[0].keep, .runs = std::move(*found.runs)};
  const Schedule& schedule = scheduler_.run(choice.runs);
  choice.peak = schedule.feasible ? schedule.peak : kNever;
  choice.seconds = schedule.seconds;
  return choice;
}

Choice RecomputeSearch::solve(Bytes target) {
  left_ = kSearchTasks;
  Choice best = solve_as(target, false);
  if (best.peak <= target || !copies()) return best;
  Choice tight = solve_as(target, true);
  if (better(tight, best, target)) best = std::move(tight);
  if (best.peak <= target || smallest().peak > target) return best;
  // From the least memory there is to the least time within the target.
  tight_ = true;
  return polish(improve(evaluate(smallest().keep), target), target);
}

Choice RecomputeSearch::solve_as(Bytes target, bool tight) {
  tight_ = tight;
  const Choice& all = all_[tight ? 1 : 0];
  if (all.peak <= target) return all;
  const std::optional<Choice> complete = exact(target);
  // A complete search adds up runs, and knows of no launches that several of them share.
  if (complete && model_.host_room == 0 && !fuses(model_.device)) return *complete;
  Choice best = improve(greedy(all, target), target);
  for (const Choice& segments : segmented()) {
    if (left_ <= 0) break;
    Choice choice = segments;
    if (choice.peak > target) choice = greedy(std::move(choice), target);
    if (choice.peak > target && best.peak <= target) continue;
    choice = improve(std::move(choice), target);
    if (better(choice, best, target)) best = std::move(choice);
  }
  best = polish(std::move(best), target);
  return complete && better(*complete, best, target) ? *complete : best;
}

Choice RecomputeSearch::polish(Choice best, Bytes target) {
  // So much simulated work, whatever the size of the step.
  auto left =
      static_cast<std::int64_t>(kPolishTasks / std::max<std::size_t>(model_.work.size(), 1));
  bool moved = true;
  while (moved && left > 0) {
    moved = false;
    for (const int r : candidates_) {
      const Root& root = model_.roots[static_cast<std::size_t>(r)];
      if (root.bytes * 64 < best.peak) continue;
      const char now = best.keep[static_cast<std::size_t>(r)];
      std::vector<std::vector<char>> trials;
      for (const char other : {kKept, kDropped, kFleeting, kAway}) {
        if (other == now || (other == kAway && movable_[static_cast<std::size_t>(r)] == 0))
          continue;
        trials.push_back(best.keep);
        trials.back()[static_cast<std::size_t>(r)] = other;
      }
      const auto next = std::upper_bound(root.uses.begin(), root.uses.end(), root.drop_after);
      if (now == kKept && next != root.uses.end()) {
        trials.push_back(best.keep);
        drop(trials.back(), r, *next);
      }
      for (const auto& keep : trials) {
        if (--left < 0) break;
        Choice choice = evaluate(keep);
        const bool same = choice.peak == best.peak && choice.seconds == best.seconds;
        if (same || !better(choice, best, target)) continue;
        moved = true;
        best = std::move(choice);
      }
    }
  }
  return best;
}

const Choice& RecomputeSearch::smallest() {
  if (!smallest_) {
    left_ = kSearchTasks;
    smallest_ = find_smallest();
  }
  return *smallest_;
}

Choice RecomputeSearch::find_smallest() {
  if (exact_) {
    const ExactSearch::Found found = exact_->smallest();
    if (found.runs) {
      std::optional<Choice> choice = exact(found.peak);
      if (choice && model_.host_room == 0) return std::move(*choice);
    }
  }
  // The least memory, however long its copies take.
  const bool tight = copies();
  count_waits_ = !tight;
  Choice best = solve_as(0, tight);
  for (const Choice& segments : segmented()) {
    if (segments.peak > best.peak + best.peak / 4 || left_ <= 0) continue;
    Choice choice = polish(segments, 0);
    if (better(choice, best, 0)) best = std::move(choice);
  }
  // Other targets lead elsewhere: as long as a lower one is met, there is less.
  const int descents = model_.host_room == 0 ? kDescents : kDescentsWithHost;
  for (int step = 0; step < descents && left_ > 0; ++step) {
    Choice choice = solve_as(best.peak - best.peak / 128 - 1, tight);
    if (choice.peak >= best.peak) break;
    best = std::move(choice);
  }
  const Bytes least = best.peak;
  best = improve(std::move(best), least);
  count_waits_ = true;
  return best;
}

}  // namespace plimsoll::plan
