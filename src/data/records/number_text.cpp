#include "data/records/number_text.h"

#include <charconv>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

template <typename T>
bool parse(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Value number_from_text(const Feature& feature, std::string_view text) {
  constexpr std::string_view kSpace(" \t\r\n\f\v\0", 7);
  const auto first = text.find_first_not_of(kSpace);
  const std::string_view inner =
      first == std::string_view::npos
          ? std::string_view()
          : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
  switch (feature.spec.dtype) {
    case DType::i64:
      if (std::int64_t value = 0; parse(inner, value)) return value;
      break;
    case DType::i32:
      if (std::int32_t value = 0; parse(inner, value)) return value;
      break;
    case DType::f32:
      if (float value = 0; parse(inner, value)) return value;
      break;
    case DType::f64:
      if (double value = 0; parse(inner, value)) return value;
      break;
    case DType::boolean:
      if (inner == "true" || inner == "True" || inner == "1") return true;
      if (inner == "false" || inner == "False" || inner == "0") return false;
      break;
    default:
      break;
  }
  throw DataError(fmt::format("\"{}\" is \"{}\", which cannot be read as {}",
                              printable(feature.name), printable(text.substr(0, 80)),
                              dtype_name(feature.spec.dtype)));
}

}  // namespace plimsoll::data
