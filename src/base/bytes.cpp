#include <plimsoll/base/bytes.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

constexpr Bytes kLargest = static_cast<Bytes>(std::numeric_limits<std::int64_t>::max());

struct Unit {
  std::string_view name;
  Bytes bytes;
};

constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"k", KiB(1)},
    Unit{"kib", KiB(1)},
    Unit{"m", MiB(1)},
    Unit{"mib", MiB(1)},
    Unit{"g", GiB(1)},
    Unit{"gib", GiB(1)},
    Unit{"t", GiB(1) << 10},
    Unit{"tib", GiB(1) << 10},
    Unit{"kb", 1'000},
    Unit{"mb", 1'000'000},
    Unit{"gb", 1'000'000'000},
    Unit{"tb", 1'000'000'000'000},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the digits that `text` starts with.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

class SizeParser {
 public:
  SizeParser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Bytes parse() const {
    std::string_view rest = text_;
    const std::string_view whole = take_digits(rest);
    if (whole.empty()) fail("does not start with a number");
    std::string_view fraction;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      fraction = take_digits(rest);
      if (fraction.empty()) fail("has no digits after the point");
    }
    const Bytes unit = parse_unit(rest);
    return scale(whole, fraction, unit);
  }

 private:
  Bytes parse_unit(std::string_view rest) const {
    const auto start = rest.find_first_not_of(' ');
    if (!rest.empty() && start == std::string_view::npos) fail("ends with a space");
    std::string name(rest.substr(std::min(start, rest.size())));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Unit& unit : kUnits) {
      if (unit.name == name) return unit.bytes;
    }
    fail("has an unknown unit");
  }

  Bytes scale(std::string_view whole, std::string_view fraction, Bytes unit) const {
    Bytes value = 0;
    for (const char c : whole) {
      const auto digit = static_cast<Bytes>(c - '0');
      if (value > (kLargest - digit) / 10) fail("is too large");
      value = value * 10 + digit;
    }
    if (value > kLargest / unit) fail("is too large");
    value *= unit;
    // From the last digit on, each floor is that of the exact value: floor((n + floor(x)) / 10)
    // is floor((n + x) / 10).
    Bytes part = 0;
    bool inexact = false;
    for (auto c = fraction.rbegin(); c != fraction.rend(); ++c) {
      part += static_cast<Bytes>(*c - '0') * unit;
      inexact = inexact || part % 10 != 0;
      part /= 10;
    }
    if (part > kLargest - value) fail("is too large");
    value += part;
    if (inexact && (unit == 1 || value == 0)) fail("is a fraction of a byte");
    return value;
  }

  [[noreturn]] void fail(std::string_view problem) const {
    throw InvalidArgument(
        fmt::format("{}: \"{}\" {}; write a size like 4096, 512MiB, 1.5g or 200MB", what_,
                    text_.substr(0, 64), problem));
  }

  std::string_view text_;
  std::string_view what_;
};

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view what) {
  return SizeParser(text, what).parse();
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes == kUnlimited) return "unlimited";
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  // What would round to 1024 belongs to the next unit.
  while (value >= 1023.5 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::floor(value);
  // 99.95 would be written 100.0.
  return fmt::format("{:.{}f} {}", value, whole || value >= 99.95 ? 0 : 1, kNames[unit]);
}

}  // namespace plimsoll
