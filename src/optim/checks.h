#pragma once

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::optim {

/// InvalidArgument unless 0 <= value < 1.
inline void check_share(std::string_view who, std::string_view what, double value) {
  if (!(value >= 0 && value < 1)) {
    throw InvalidArgument(fmt::format("[{}] {} is {}; it must be in [0, 1)", who, what, value));
  }
}

/// InvalidArgument unless 0 <= value, and finite.
inline void check_positive(std::string_view who, std::string_view what, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    throw InvalidArgument(fmt::format("[{}] {} is {}; it must be 0 or more", who, what, value));
  }
}

}  // namespace plimsoll::optim
