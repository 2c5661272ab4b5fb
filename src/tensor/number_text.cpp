#include "tensor/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace plimsoll {
namespace {

template <typename T>
T load(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

/// The shortest decimal that rounds to the same 16-bit value.
template <typename T>
double shortest_16bit(T value) {
  const auto exact = static_cast<float>(value);
  if (!std::isfinite(exact)) return exact;
  for (int digits = 0; digits < 8; ++digits) {
    const double candidate = std::strtod(fmt::format("{:.{}e}", exact, digits).c_str(), nullptr);
    if (T(static_cast<float>(candidate)) == value) return candidate;
  }
  return exact;
}

double shortest_f32(float value) {
  if (!std::isfinite(value)) return value;
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size() - 1, value);
  *end = '\0';
  return error == std::errc{} ? std::strtod(text.data(), nullptr) : value;
}

/// A number as digits before the point, digits after it, and an exponent.
struct NumberText {
  std::string whole = {};
  std::string fraction = {};
  std::string exponent = {};
  bool finite = true;
};

NumberText split(double value, std::chars_format format, int precision) {
  if (std::isnan(value)) return {.whole = "nan", .finite = false};
  if (std::isinf(value)) return {.whole = value < 0 ? "-inf" : "inf", .finite = false};
  std::array<char, 400> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  std::string text(buffer.data(), result.ptr);
  const auto take_apart = [&text] {
    NumberText parts;
    const auto e = std::min(text.find('e'), text.size());
    const auto point = std::min(text.find('.'), e);
    parts.whole = text.substr(0, point);
    if (point < e) parts.fraction = text.substr(point + 1, e - point - 1);
    parts.exponent = text.substr(e);
    return parts;
  };
  NumberText parts = take_apart();
  if (parts.fraction.size() > static_cast<std::size_t>(precision)) {
    text = format == std::chars_format::fixed ? fmt::format("{:.{}f}", value, precision)
                                              : fmt::format("{:.{}e}", value, precision);
    parts = take_apart();
    while (parts.fraction.ends_with('0')) parts.fraction.pop_back();
  }
  return parts;
}

/// NumPy's rule for when the fixed notation wastes digits.
bool wants_exponent(const std::vector<double>& values) {
  double smallest = 0;
  double largest = 0;
  for (const double value : values) {
    const double magnitude = std::fabs(value);
    if (!std::isfinite(value) || magnitude == 0) continue;
    smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
    largest = std::max(largest, magnitude);
  }
  return largest >= 1e8 || (smallest != 0 && (smallest < 1e-4 || largest / smallest > 1000));
}

}  // namespace

double shortest_value(const void* data, DType dtype) {
  switch (dtype) {
    case DType::f16:
      return shortest_16bit(load<Float16>(data));
    case DType::bf16:
      return shortest_16bit(load<BFloat16>(data));
    case DType::f32:
      return shortest_f32(load<float>(data));
    default:
      return load<double>(data);
  }
}

std::vector<std::string> format_floats(const std::vector<double>& values, int precision) {
  const bool exponent = wants_exponent(values);
  const auto format = exponent ? std::chars_format::scientific : std::chars_format::fixed;
  std::vector<NumberText> parts;
  std::size_t left = 0;
  std::size_t right = 0;
  for (const double value : values) {
    parts.push_back(split(value, format, precision));
    if (!parts.back().finite) continue;
    left = std::max(left, parts.back().whole.size());
    right = std::max(right, parts.back().fraction.size());
  }
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (const NumberText& number : parts) {
    if (!number.finite) {
      texts.push_back(number.whole);
    } else {
      // Digits of a mantissa line up by zeros, those of plain numbers by spaces.
      const std::string fill(right - number.fraction.size(), exponent ? '0' : ' ');
      texts.push_back(
          fmt::format("{:>{}}.{}{}{}", number.whole, left, number.fraction, fill, number.exponent));
    }
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

std::string format_integer(const void* data, DType dtype) {
  switch (dtype) {
    case DType::i64:
      return std::to_string(load<std::int64_t>(data));
    case DType::i32:
      return std::to_string(load<std::int32_t>(data));
    case DType::i16:
      return std::to_string(load<std::int16_t>(data));
    case DType::i8:
      return std::to_string(load<std::int8_t>(data));
    case DType::u16:
      return std::to_string(load<std::uint16_t>(data));
    case DType::boolean:
      return load<std::uint8_t>(data) != 0 ? "True" : "False";
    default:
      return std::to_string(load<std::uint8_t>(data));
  }
}

std::string format_string(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result = "b'";
  for (const char c : text.substr(0, kShown)) {
    if (c == '\'' || c == '\\') {
      result += {'\\', c};
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (text.size() > kShown ? "...'" : "'");
}

}  // namespace plimsoll
