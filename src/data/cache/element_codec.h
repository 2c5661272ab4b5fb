#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

/// What the description of an element of numbers says, so that its contents can be read to where
/// they are wanted. Its shapes and sizes agree with one another and with the head; that they are
/// right only the checksum tells, at the end.
struct ElementOutline {
  struct Part {
    DType dtype = DType::f32;
    bool scalar = false;
    std::uint64_t bits = 0;  ///< of a scalar
    Shape shape;             ///< of a tensor
    Bytes bytes = 0;         ///< of a tensor
  };
  std::uint64_t id = 0;
  std::vector<Part> parts;
  Bytes contents = 0;          ///< where they begin, from the beginning of the head
  std::uint32_t crc = 0;       ///< of what comes before the contents
  std::uint32_t checksum = 0;  ///< of all
};
/// Bytes of the head and the description.
Bytes outline_bytes(std::span<const std::byte, kElementHead> head);
/// Of an element of `total` bytes whose head and description are `bytes`; nullopt where it has byte
/// strings. Throws DataError.
std::optional<ElementOutline> outline_of(std::span<const std::byte> bytes, Bytes total);

}  // namespace plimsoll::data
