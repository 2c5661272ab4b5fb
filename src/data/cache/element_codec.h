#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/data/element.h>
#include <plimsoll/device/device.h>

#include "data/records/output_file.h"

namespace plimsoll::data {

// An element in a file: the number of bytes that follow its head (u64), their checksum (u32), the
// number of words among them (u32), which the checksum has before them; words: the id, the number
// of values, then for each value its dtype, its rank + 1 or 0 for an inline scalar, its extents or
// its bits, and for byte strings their lengths; then the tensors' bytes.

inline constexpr Bytes kElementHead = 16;

/// Appends `element`, whose tensors are the host's; returns the bytes it takes. Throws as
/// OutputFile does, and OutOfMemory.
Bytes write_element(OutputFile& file, const Element& element);

/// Bytes of the element with this head, the head included. DataError where they are more than
/// `most` or the head cannot be.
Bytes element_bytes(std::span<const std::byte, kElementHead> head, Bytes most);

/// The element that is `bytes`, in memory of `options`. Nothing that damaged bytes say is believed
/// without a check: what is allocated is bounded by them. Throws DataError, and OutOfMemory.
Element decode_element(std::span<const std::byte> bytes, const Device& device,
                       const TensorOptions& options);

}  // namespace plimsoll::data
