#include "support/pebble_game.h"

#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

namespace plimsoll::test {
namespace {

/// Which values have a pebble, and the next node in order above them.
using Position = std::uint64_t;
constexpr int kMostValues = 48;

/// Dijkstra over positions. What a path costs is the seconds of runs that are not the first of
/// their node, within a budget; or, without one, the most bytes at any moment of it.
class Search {
 public:
  Search(const PebbleGame& game, std::optional<std::uint64_t> budget)
      : game_(game), budget_(budget), producer_(game.bytes.size(), -1) {
    if (game.bytes.size() > kMostValues) throw std::invalid_argument("too many values");
    for (std::size_t n = 0; n < game.nodes.size(); ++n) {
      for (const int v : game.nodes[n].outputs) producer_[at(v)] = static_cast<int>(n);
    }
    find_useful();
  }

  std::optional<double> run() {
    std::uint64_t start = 0;
    for (const int v : game_.given) start |= bit(v);
    std::uint64_t goal = 0;
    for (const int v : game_.wanted) goal |= bit(v);
    arrive(0, start, 0);
    while (!open_.empty()) {
      const auto [cost, behind, position] = open_.top();
      open_.pop();
      if (cost > best_.at(position)) continue;
      const auto next = static_cast<int>(position >> kMostValues);
      const std::uint64_t live = position & ((std::uint64_t{1} << kMostValues) - 1);
      if (next == static_cast<int>(game_.nodes.size())) {
        if ((live & goal) == goal) return cost;
        continue;
      }
      for (std::uint64_t rest = live; rest != 0; rest &= rest - 1) {
        arrive(next, live & ~(rest & (~rest + 1)), cost);
      }
      for (int n = 0; n <= next; ++n) {
        const PebbleGame::Node& node = game_.nodes[at(n)];
        if (n < next) {
          if (next > node.again_until) continue;
          bool new_one = false;
          for (const int v : node.outputs) {
            new_one = new_one || ((live & bit(v)) == 0 && (useful_[at(next)] & bit(v)) != 0);
          }
          if (!new_one) continue;
        }
        play(node, n == next, n == next ? next + 1 : next, live, cost, 0, 0, 0);
      }
    }
    return std::nullopt;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::uint64_t bit(int v) { return std::uint64_t{1} << at(v); }

  /// Values that can still matter when node `next` is next.
  void find_useful() {
    const std::size_t count = game_.nodes.size();
    useful_.assign(count + 1, 0);
    for (std::size_t next = 0; next <= count; ++next) {
      std::uint64_t useful = 0;
      for (const int v : game_.wanted) useful |= bit(v);
      for (std::size_t n = next; n < count; ++n) {
        for (const int v : game_.nodes[n].inputs) useful |= bit(v);
      }
      for (bool grown = true; grown;) {
        grown = false;
        for (std::size_t v = 0; v < game_.bytes.size(); ++v) {
          if ((useful >> v & 1U) == 0 || producer_[v] < 0) continue;
          const PebbleGame::Node& node = game_.nodes[at(producer_[v])];
          if (static_cast<int>(next) > node.again_until) continue;
          for (const int in : node.inputs) {
            grown = grown || (useful & bit(in)) == 0;
            useful |= bit(in);
          }
        }
      }
      useful_[next] = useful;
    }
  }

  /// Runs a node, with each choice of what it writes over what.
  void play(const PebbleGame::Node& node, bool first, int next, std::uint64_t live, double cost,
            std::size_t pair, std::uint64_t eaten, std::uint64_t written) {
    for (const int v : node.inputs) {
      if ((live & bit(v)) == 0) return;
    }
    if (pair < node.in_place.size()) {
      play(node, first, next, live, cost, pair + 1, eaten, written);
      const auto [out, in] = node.in_place[pair];
      if ((eaten & bit(in)) == 0 && (written & bit(out)) == 0) {
        play(node, first, next, live, cost, pair + 1, eaten | bit(in), written | bit(out));
      }
      return;
    }
    std::uint64_t bytes = node.workspace;
    std::uint64_t after = live & ~eaten;
    for (std::size_t v = 0; v < game_.bytes.size(); ++v) {
      if ((live >> v & 1U) != 0) bytes += game_.bytes[v];
    }
    for (const int v : node.outputs) {
      if ((written & bit(v)) == 0) bytes += game_.bytes[at(v)];
      after |= bit(v);
    }
    if (budget_) {
      // First runs are on every path: only others count.
      const double seconds = first ? 0 : node.seconds;
      if (bytes <= *budget_) arrive(next, after, cost + seconds);
    } else {
      arrive(next, after, std::max(cost, static_cast<double>(bytes)));
    }
  }

  void arrive(int next, std::uint64_t live, double cost) {
    live &= useful_[at(next)];
    const Position position = static_cast<Position>(next) << kMostValues | live;
    const auto [it, fresh] = best_.try_emplace(position, cost);
    if (!fresh) {
      if (it->second <= cost) return;
      it->second = cost;
    }
    // Of equal ones the farthest first.
    open_.emplace(cost, static_cast<int>(game_.nodes.size()) - next, position);
  }

  const PebbleGame& game_;
  std::optional<std::uint64_t> budget_;
  std::vector<int> producer_;
  std::vector<std::uint64_t> useful_;
  std::unordered_map<Position, double> best_;
  using Open = std::tuple<double, int, Position>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
};

}  // namespace

std::optional<double> PebbleGame::least_seconds(std::uint64_t budget) const {
  std::optional<double> result = Search(*this, budget).run();
  for (const Node& node : nodes) {
    if (result) *result += node.seconds;
  }
  return result;
}

std::uint64_t PebbleGame::smallest_budget() const {
  const std::optional<double> most = Search(*this, std::nullopt).run();
  if (!most) throw std::logic_error("there is no way at all");
  return static_cast<std::uint64_t>(*most);
}

}  // namespace plimsoll::test
