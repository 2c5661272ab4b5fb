#include <plimsoll/report/chart.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/text.h>

namespace plimsoll::report {
namespace {

constexpr std::size_t kLeastBars = 8;
constexpr int kEighths = 8;
/// From an empty cell to a full one.
constexpr std::array<const char*, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                           "▅", "▆", "▇", "█"};
constexpr std::array<const char*, kEighths + 1> kPlain = {" ", ".", ".", ".", ":",
                                                          ":", ":", "#", "#"};

Series::Point merged(const Series::Point& a, const Series::Point& b) {
  const std::int64_t count = a.count + b.count;
  const double share = static_cast<double>(b.count) / static_cast<double>(count);
  return {.mean = a.mean + (b.mean - a.mean) * share,
          .low = std::min(a.low, b.low),
          .high = std::max(a.high, b.high),
          .count = count};
}

/// One number for each bar: of the points that share it.
std::vector<double> bar_heights(const std::vector<Series::Point>& points, std::size_t bars,
                                bool peaks) {
  std::vector<double> heights(bars);
  for (std::size_t bar = 0; bar < bars; ++bar) {
    const std::size_t from = bar * points.size() / bars;
    const std::size_t to = std::max(from + 1, (bar + 1) * points.size() / bars);
    Series::Point all = points[from];
    for (std::size_t i = from + 1; i < to; ++i) all = merged(all, points[i]);
    heights[bar] = peaks ? all.high : all.mean;
  }
  return heights;
}

}  // namespace

Series::Series(std::size_t most) : most_(std::max<std::size_t>(most, 2)) {}

void Series::add(double value) {
  if (!std::isfinite(value)) return;
  if (count_++ == 0) first_ = value;
  last_ = value;
  const Point one{.mean = value, .low = value, .high = value, .count = 1};
  if (!points_.empty() && points_.back().count < per_point_) {
    points_.back() = merged(points_.back(), one);
    return;
  }
  if (points_.size() == most_) {
    std::vector<Point> half;
    for (std::size_t i = 0; i < points_.size(); i += 2) {
      half.push_back(i + 1 < points_.size() ? merged(points_[i], points_[i + 1]) : points_[i]);
    }
    points_ = std::move(half);
    per_point_ *= 2;
    if (points_.back().count < per_point_) {
      points_.back() = merged(points_.back(), one);
      return;
    }
  }
  points_.push_back(one);
}

std::string draw(const Series& series, const ChartOptions& options) {
  const std::vector<Series::Point>& points = series.points();
  if (points.empty()) return {};
  const auto label =
      options.label ? options.label : [](double value) { return fmt::format("{:.3g}", value); };
  double low = 0;
  double high = options.top;
  for (const Series::Point& point : points) {
    low = std::min(low, point.low);
    high = std::max(high, options.peaks ? point.high : point.mean);
  }
  if (!(high > low)) high = low + 1;

  const std::string upper = label(high);
  const std::string lower = label(low);
  constexpr std::string_view kSteps = "step";
  const std::size_t margin = std::max({upper.size(), lower.size(), kSteps.size()}) + 1;
  const std::size_t around = margin + 1;
  const std::size_t bars =
      options.columns > around + kLeastBars ? options.columns - around - 1 : kLeastBars;
  const std::vector<double> heights = bar_heights(points, bars, options.peaks);
  const auto& cells = options.plain ? kPlain : kBlocks;
  const char* const wall = options.plain ? "|" : "│";

  std::string text;
  const auto rows = static_cast<int>(std::max<std::size_t>(options.rows, 1));
  for (int row = rows - 1; row >= 0; --row) {
    text += fmt::format("{:>{}}{}", row == rows - 1 ? upper : "", margin, wall);
    std::string line;
    std::size_t blanks = 0;
    for (const double height : heights) {
      const double eighths = (height - low) / (high - low) * rows * kEighths - row * kEighths;
      const int filled = std::clamp(static_cast<int>(std::lround(eighths)), 0, kEighths);
      // Spaces at the end of a line are left out.
      if (filled == 0) {
        ++blanks;
        continue;
      }
      line += std::string(blanks, ' ') + cells[static_cast<std::size_t>(filled)];
      blanks = 0;
    }
    text += line + "\n";
  }
  text += fmt::format("{:>{}}{}", lower, margin, options.plain ? "+" : "└");
  for (std::size_t i = 0; i < bars; ++i) text += options.plain ? "-" : "─";
  const std::string end = format_count(series.count());
  text += fmt::format("\n{:>{}} 1{:>{}}\n", kSteps, margin, end, bars - 1);
  return text;
}

}  // namespace plimsoll::report
