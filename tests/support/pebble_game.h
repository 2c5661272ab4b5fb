#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace plimsoll::test {

/// A step as a game with pebbles: a value has one while it is in memory. It knows nothing of how
/// the planner represents its decisions: any value may be dropped at any moment, and computed again
/// at any moment by running its node again, as often as one likes.
struct PebbleGame {
  struct Node {
    std::vector<int> inputs;  ///< values
    std::vector<int> outputs;
    std::vector<std::pair<int, int>> in_place;  ///< output value over input value
    double seconds = 0;
    std::uint64_t workspace = 0;
    /// Whether it may run again, and until which node is next in order.
    int again_until = 0;
  };
  std::vector<std::uint64_t> bytes;  ///< by value
  std::vector<int> given;            ///< there at the start
  std::vector<int> wanted;           ///< there at the end
  std::vector<Node> nodes;           ///< their first runs are in this order

  /// The least time within `budget` bytes; nullopt if there is no way.
  std::optional<double> least_seconds(std::uint64_t budget) const;
  /// The smallest budget within which there is a way.
  std::uint64_t smallest_budget() const;
};

}  // namespace plimsoll::test
