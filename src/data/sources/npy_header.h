#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {

/// What the header of a file in NumPy's .npy format says of the array in it, which is in C order.
struct NpyHeader {
  DType dtype = DType::f32;
  Bytes item_bytes = 0;  ///< of one number; for DType::bytes of one fixed byte string
  bool swapped = false;  ///< stored in big-endian order
  Shape shape;           ///< rank 1 or more, but for arrays in memory
  Bytes data_offset = 0;

  /// Bytes of a slice along the first dimension.
  Bytes slice_bytes() const;
};

/// Reads and checks the header: all that it says fits in the file. Throws DataError saying what is
/// wrong or not supported, without the file's name.
NpyHeader read_npy_header(const InputFile& file);
/// The same of an array that is in memory, which may be a scalar: its shape is then of rank 0.
NpyHeader read_npy_header(std::span<const std::byte> bytes);

/// Makes what was read what it means: the byte order, booleans of 0 and 1.
void settle_npy(const NpyHeader& header, std::byte* data, Bytes bytes);

}  // namespace plimsoll::data
