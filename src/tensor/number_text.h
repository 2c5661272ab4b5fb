#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/dtype.h>

namespace plimsoll {

/// The value with the fewest digits that reads back as the same element: 0.1 for the f16 nearest
/// to 0.1. `data` is one element of a floating dtype.
double shortest_value(const void* data, DType dtype);

/// Writes floating values as NumPy would in one array: with the fewest digits that tell them
/// apart, at most `precision` after the point, all in one notation and of one width.
std::vector<std::string> format_floats(const std::vector<double>& values, int precision);

/// One element of an integer dtype or a boolean.
std::string format_integer(const void* data, DType dtype);

/// A byte string as Python writes it, b'...', cut after some 40 bytes.
std::string format_string(std::string_view text);

}  // namespace plimsoll
