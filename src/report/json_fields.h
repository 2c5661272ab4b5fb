#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>

namespace plimsoll::report {

using Json = nlohmann::ordered_json;

// Fields of JSON that somebody else may have written: what is missing or of another type is the
// default, and nothing throws.

inline const Json* field(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto it = json.find(name);
  return it == json.end() ? nullptr : &*it;
}

inline double number_or(const Json* json, double standard) {
  return json != nullptr && json->is_number() ? json->get<double>() : standard;
}

/// NaN if there is none.
inline double number(const Json& json, const char* name) {
  return number_or(field(json, name), std::numeric_limits<double>::quiet_NaN());
}

/// Whole numbers that any reader of JSON has exactly.
inline std::int64_t count_or(const Json* json, std::int64_t standard) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  if (json == nullptr || !json->is_number()) return standard;
  const double value = json->get<double>();
  if (!(value >= -kMost && value <= kMost) || value != std::floor(value)) return standard;
  return static_cast<std::int64_t>(value);
}

inline std::int64_t count(const Json& json, const char* name, std::int64_t standard = 0) {
  return count_or(field(json, name), standard);
}

/// 0 for what is no size.
inline Bytes size(const Json& json, const char* name) {
  const Json* const found = field(json, name);
  // No limit is more than JavaScript counts exactly.
  if (found != nullptr && found->is_number_unsigned() && count_or(found, -1) < 0) return kUnlimited;
  const std::int64_t bytes = count_or(found, 0);
  return bytes > 0 ? static_cast<Bytes>(bytes) : 0;
}

inline std::string text(const Json& json, const char* name) {
  const Json* const found = field(json, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

inline std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Text of others as JSON: discarded (is_discarded()) if it is none, or so deep that walking
/// through it would need a large stack.
inline Json parsed(std::string_view text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return Json(Json::value_t::discarded);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return Json::parse(text, nullptr, false);
}

}  // namespace plimsoll::report
