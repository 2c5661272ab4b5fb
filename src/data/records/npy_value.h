#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/records/record_format.h"

namespace plimsoll::data {

/// The array of an .npy file that is in memory, as the feature wants it: the same dtype, and a
/// shape that its spec admits. Throws DataError naming the feature; OutOfMemory.
Value npy_value(const Feature& feature, std::span<const std::byte> file,
                const RecordMemory& memory);

/// The .npy file of a component that holds numbers.
std::string npy_file(const Value& value);

}  // namespace plimsoll::data
