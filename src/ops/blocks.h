#pragma once

#include <cstdint>

namespace plimsoll::ops {

/// How many blocks of `of` cover `extent`.
inline std::int64_t blocks(std::int64_t extent, std::int64_t of) { return (extent + of - 1) / of; }

}  // namespace plimsoll::ops
