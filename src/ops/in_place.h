#pragma once

#include <array>

#include <plimsoll/ops/op_def.h>

// What the first output of an op may be written over.

namespace plimsoll::ops {

inline constexpr std::array<InPlace, 1> kOverFirst = {{{0, 0}}};
inline constexpr std::array<InPlace, 2> kOverEither = {{{0, 0}, {0, 1}}};

}  // namespace plimsoll::ops
