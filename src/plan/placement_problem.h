#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <plimsoll/plan/placement.h>

namespace plimsoll::plan {

/// A size or an offset, in units of the problem's alignment.
using Units = std::int64_t;

/// A buffer with its time in sections.
struct Item {
  Units size = 0;          ///< at least 1
  Units align = 1;         ///< a power of two
  std::int32_t first = 0;  ///< live in sections [first, last)
  std::int32_t last = 0;
  std::int32_t source = 0;  ///< index of the buffer it stands for

  std::int32_t sections() const { return last - first; }
  bool overlaps(const Item& other) const { return first < other.last && other.first < last; }
};

/// Buffers that no moment without live ones parts. A section stands for a moment with a largest
/// set of live buffers: two buffers overlap in time exactly if they share a section.
struct Problem {
  std::vector<Item> items;
  std::int32_t sections = 0;
  Units lower_bound = 0;  ///< the largest sum of sizes in a section

  Units rounded(Units offset, const Item& item) const {
    return (offset + item.align - 1) & ~(item.align - 1);
  }
};

/// Independent problems that together stand for a list of buffers, and the unit they count in.
struct Split {
  Bytes unit = 1;
  std::vector<Problem> problems;  ///< buffers of no size or no lifetime are in none
};

/// Throws InvalidArgument as `place` says.
Split split(std::span<const Buffer> buffers, Bytes alignment);

/// The sum of the sizes live in each section.
std::vector<Units> section_loads(const Problem& problem);

/// Offsets of a problem's items.
struct Solution {
  std::vector<Units> offsets;
  Units height = 0;
};

Units height_of(const Problem& problem, const std::vector<Units>& offsets);

/// Ends work at a moment. Looks at the clock at each call.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point end) : end_(end) {}
  bool passed() {
    passed_ = passed_ || Clock::now() >= end_;
    return passed_;
  }
  /// True if `passed` has ever said so.
  bool was_passed() const { return passed_; }

 private:
  Clock::time_point end_;
  bool passed_ = false;
};

/// splitmix64: a small generator whose numbers are the same everywhere.
class PlacementRandom {
 public:
  explicit PlacementRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace plimsoll::plan
