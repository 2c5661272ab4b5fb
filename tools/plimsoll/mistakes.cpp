#include "mistakes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/system.h>
#include <plimsoll/base/text.h>

namespace plimsoll::tools {
namespace {

/// Letters to insert, delete, replace or exchange with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string_view without_dashes(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('-'), text.size()));
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view bare = without_dashes(word);
  std::string best;
  std::size_t least = std::max<std::size_t>(1, bare.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::string_view other = without_dashes(name);
    const std::size_t away = distance(bare, other);
    if (away < least) {
      least = away;
      best = name;
    }
  }
  if (!best.empty() || bare.size() < 3) return best;
  // "--checkpoint" for "--checkpoints", "--val" for "--validation-batch".
  for (const std::string& name : names) {
    if (without_dashes(name).starts_with(bare)) return name;
  }
  return {};
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::string found = nearest(word, names);
  return found.empty() ? "" : fmt::format("; did you mean '{}'?", found);
}

std::string OneOf::operator()(const std::string& text) const {
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  return fmt::format("'{}' is not one of {}{}", text, fmt::join(names, ", "),
                     suggestion(text, names));
}

namespace {

std::string read_number(const std::string& text, double& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
  if (error != std::errc() || stop != end) return fmt::format("'{}' is not a number", text);
  return std::isfinite(value) ? "" : fmt::format("{} is not a finite number", text);
}

std::string read_count(const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return fmt::format("{} is too large a number", text);
  if (error != std::errc() || stop != end) return fmt::format("'{}' is not a whole number", text);
  return value >= least ? "" : fmt::format("{} is below {}", text, least);
}

}  // namespace

std::string is_positive(const std::string& text) {
  double value = 0;
  const std::string wrong = read_number(text, value);
  return !wrong.empty() || value > 0 ? wrong : fmt::format("{} is not above 0", text);
}

std::string is_not_negative(const std::string& text) {
  double value = 0;
  const std::string wrong = read_number(text, value);
  return !wrong.empty() || value >= 0 ? wrong : fmt::format("{} is negative", text);
}

std::string is_decay(const std::string& text) {
  double value = 0;
  const std::string wrong = read_number(text, value);
  return !wrong.empty() || (value >= 0 && value < 1)
             ? wrong
             : fmt::format("{} is not a number from 0 to below 1", text);
}

std::string is_path(const std::string& text) {
  return text.empty() ? "is empty; give the path of a file, or leave the option out" : "";
}

std::string is_count(const std::string& text) { return read_count(text, 1); }
std::string is_count_or_zero(const std::string& text) { return read_count(text, 0); }

std::string is_skip_count(const std::string& text) {
  return text == "-1" ? std::string() : is_count_or_zero(text);
}

void check_threads(std::int64_t threads) {
  // More only wait, and each takes memory.
  constexpr int kPerCpu = 4;
  constexpr int kAlways = 16;
  const int cpus = default_threads();
  const int most = std::max(kAlways, kPerCpu * cpus);
  if (threads <= most) return;
  throw InvalidArgument(
      fmt::format("--threads {}: this machine has {}; give at most {}, or leave it out", threads,
                  counted(cpus, "CPU"), most));
}

void require_other_file(const char* option, const std::string& output, const std::string& input) {
  std::error_code error;
  if (output.empty() || !std::filesystem::equivalent(output, input, error) || error) return;
  throw InvalidArgument(
      fmt::format("{} {}: that is the file that is read; name another", option, printable(output)));
}

std::string is_port(const std::string& text) {
  constexpr double kLast = 65535;
  double value = 0;
  std::string wrong = is_count_or_zero(text);
  if (!wrong.empty() || !read_number(text, value).empty()) return wrong;
  return value <= kLast ? "" : fmt::format("{} is not a port: they end at 65535", text);
}

std::chrono::milliseconds read_time(const std::string& text, const char* option) {
  constexpr double kMaxSeconds = 1e6;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const double scale = unit == "ms"                  ? 1e-3
                       : unit == "s" || unit.empty() ? 1
                       : unit == "m"                 ? 60
                                                     : -1;
  const double seconds = value * scale;
  if (error != std::errc() || !(seconds >= 0 && seconds <= kMaxSeconds) || scale < 0) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' is not a time from 0 to 1000000s; use 10s, 500ms or 2m", option, text));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

}  // namespace plimsoll::tools
