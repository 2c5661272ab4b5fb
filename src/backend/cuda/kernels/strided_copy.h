#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/backend/common/strided_move.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/ops/kernel.h>

namespace plimsoll::cuda {

using backend::CopyDim;

/// Moves the elements that `dims` (at most kMaxRank) run through, of `size` bytes each (1, 2, 4 or
/// 8), within the device, on `queue`. No element is written twice and the sides do not overlap.
/// Asynchronous. Throws DeviceError.
void copy_strided(void* to, const void* from, std::size_t size, std::span<const CopyDim> dims,
                  cudaStream_t queue);

/// Dense bytes that are copied from one place to another.
struct CopyPart {
  void* to;
  const void* from;
  std::int64_t bytes;
};

/// Copies all parts, which do not overlap, within the device, on `queue`: in one launch for every
/// 64 of them whose places and sizes are multiples of 16 bytes. Asynchronous. Throws DeviceError.
void copy_parts(std::span<const CopyPart> parts, cudaStream_t queue);

/// A number as an element of a dtype, in the low bits; integers take the nearest they have.
std::uint64_t element_bits(DType dtype, double value);

/// Writes `value` to all elements. Asynchronous. Throws DeviceError.
void fill(const ops::TensorView& view, double value, cudaStream_t queue);
/// The same for an element's bits, as element_bits() has them.
void fill_bits(const ops::TensorView& view, std::uint64_t bits, cudaStream_t queue);

}  // namespace plimsoll::cuda
