#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <plimsoll/train/callbacks.h>

// Charts made of characters, for terminals and for logs.

namespace plimsoll::report {

/// Numbers in the order they come, in a bounded number of points however many there are: neighbours
/// are merged, and a point keeps the mean, the smallest and the largest of what it stands for.
/// Numbers that are not finite are left out.
class Series {
 public:
  struct Point {
    double mean = 0;
    double low = 0;
    double high = 0;
    std::int64_t count = 0;
  };

  /// `most` is at least 2.
  explicit Series(std::size_t most = 2048);

  void add(double value);
  /// How many were added.
  std::int64_t count() const { return count_; }
  /// The first and the last number; 0 where there is none.
  double first() const { return first_; }
  double last() const { return last_; }
  const std::vector<Point>& points() const { return points_; }

 private:
  std::size_t most_;
  std::int64_t per_point_ = 1;
  std::int64_t count_ = 0;
  double first_ = 0;
  double last_ = 0;
  std::vector<Point> points_;
};

struct ChartOptions {
  /// Of the whole chart, the labels included. A chart has at least 8 columns of bars.
  std::size_t columns = 80;
  std::size_t rows = 8;
  /// The upper end of the axis, which begins at zero or at the least number below it; 0: the
  /// largest number.
  double top = 0;
  /// Draws the largest number of each column and not the mean, so that no peak is lost.
  bool peaks = false;
  /// Characters of ASCII alone; else eighths of blocks.
  bool plain = false;
  /// How the ends of the axis are written; by default with three digits.
  std::function<std::string(double)> label = nullptr;
};

/// Bars over a line of steps, `rows + 2` lines that each end with a newline. Empty for a series
/// without numbers.
std::string draw(const Series& series, const ChartOptions& options = {});

/// Keeps the loss and the memory in use after each step, and draws both on `out` when the run ends:
/// the memory against the budget's limit. Blocks where `out` is a terminal, plain characters
/// elsewhere and where the locale is not UTF-8.
train::Callback chart(std::FILE* out = stdout);

}  // namespace plimsoll::report
