#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/volume.h>
#include <plimsoll/nn/window.h>

#include "support/recorded.h"

// Going through the twenty random configurations NAME.0 to NAME.19 of a file in tests/nn/recorded.

namespace plimsoll::test {

inline constexpr int kRandomCount = 20;
/// Where a gradient is 0 but for rounding: of a bias before a norm, of a softmax of one.
inline const RecordedOptions kRandomOptions = {.share = 2e-5, .narrow_share = 0.06, .least = 0.05};

/// Numbers of a case's settings, one after another.
class RandomSettings {
 public:
  RandomSettings(const std::string& file, const std::string& name)
      : numbers_(recorded_tensor(file, name + ".o").to_vector<std::int64_t>()) {}
  std::int64_t next() { return numbers_.at(at_++); }
  int axis() { return static_cast<int>(next()); }
  bool flag() { return next() != 0; }
  nn::Pair pair() {
    const std::int64_t down = next();
    return {down, next()};
  }
  nn::Triple triple() {
    const std::int64_t depth = next();
    const std::int64_t down = next();
    return {depth, down, next()};
  }
  /// All that are left.
  std::vector<std::int64_t> rest() {
    const auto first = numbers_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ = numbers_.size();
    return {first, numbers_.end()};
  }

 private:
  std::vector<std::int64_t> numbers_;
  std::size_t at_ = 0;
};

/// `make` gives the layer or the function for the settings of each case.
template <typename Make>
void expect_random(const std::string& file, const std::string& name, const Make& make,
                   int first = 0, const RecordedOptions& options = kRandomOptions) {
  for (int i = first; i < kRandomCount; ++i) {
    const std::string each = fmt::format("{}.{}", name, i);
    SCOPED_TRACE(each);
    RandomSettings settings(file, each);
    expect_recorded(file, each, make(settings), options);
  }
}

/// The same for those of record_random_functions.py. Terms of sums are about 1 there, whatever is
/// left of them where they cancel.
template <typename Make>
void expect_function(const std::string& name, const Make& make) {
  expect_random("random_functions", name, make, 0,
                {.share = 2e-5, .narrow_share = 0.06, .least = 0.25});
}

}  // namespace plimsoll::test
