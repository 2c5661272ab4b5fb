#include <plimsoll/base/text.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// Of three significant digits, those after the point.
int decimals(double value) { return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2; }

}  // namespace

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + format_duration(-seconds);
  if (seconds == 0) return "0 s";
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array kUnits = {Unit{1e-9, "ns"}, Unit{1e-6, "us"}, Unit{1e-3, "ms"}};
  for (const Unit& unit : kUnits) {
    // What would be written as 1000 belongs to the next unit.
    const double value = seconds / unit.seconds;
    if (value < 999.5) return fmt::format("{:.{}f} {}", value, decimals(value), unit.name);
  }
  if (seconds < 59.95) return fmt::format("{:.{}f} s", seconds, decimals(seconds));
  if (seconds > 1e15) return fmt::format("{:.3g} s", seconds);
  const std::int64_t s = std::llround(seconds);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  const std::int64_t minutes = std::llround(seconds / 60);
  if (minutes < 48 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  const std::int64_t hours = std::llround(seconds / 3600);
  return fmt::format("{} d {} h", format_count(hours / 24), hours % 24);
}

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_rate(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second)) return "unknown";
  if (per_second >= 1e15) return fmt::format("{:.3g} {}/s", per_second, unit);
  if (per_second >= 99.95)
    return fmt::format("{} {}/s", format_count(std::llround(per_second)), unit);
  if (per_second > 0 && per_second < 0.01) return fmt::format("{:.2g} {}/s", per_second, unit);
  return fmt::format("{:.{}f} {}/s", per_second, decimals(per_second), unit);
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", format_count(count), one)
                      : fmt::format("{} {}", format_count(count), many);
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string all;
  const std::size_t begins = std::min(text.find_first_not_of(' '), text.size());
  std::size_t column = begins;
  all.append(begins, ' ');
  text.remove_prefix(begins);
  bool first = true;  // word of its line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    if (!first && column + word.size() > width) {
      all.erase(all.find_last_not_of(' ') + 1);
      all += '\n';
      all.append(indent, ' ');
      column = indent;
    }
    all += word;
    all.append(text.substr(0, spaces));
    column += word.size() + spaces;
    text.remove_prefix(spaces);
    first = false;
  }
  all.erase(all.find_last_not_of(' ') + 1);
  return all;
}

}  // namespace plimsoll
