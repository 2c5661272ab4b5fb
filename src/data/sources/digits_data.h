#pragma once

#include <span>

namespace plimsoll::data {

/// The bytes of data/digits.bin.zst, which the build puts into the library.
std::span<const unsigned char> digits_data();

}  // namespace plimsoll::data
