#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>

namespace plimsoll::data {

class InputFile;

/// What the header of a file in NumPy's .npy format says of the array in it, which is in C order.
struct NpyHeader {
  DType dtype = DType::f32;
  Bytes item_bytes = 0;  ///< of one number; for DType::bytes of one fixed byte string
  bool swapped = false;  ///< stored in big-endian order
  Shape shape;           ///< rank 1 or more
  Bytes data_offset = 0;

  /// Bytes of a slice along the first dimension.
  Bytes slice_bytes() const;
};

/// Reads and checks the header: all that it says fits in the file. Throws DataError saying what is
/// wrong or not supported, without the file's name.
NpyHeader read_npy_header(const InputFile& file);

}  // namespace plimsoll::data
