#pragma once

#include <cstdint>

#include <plimsoll/ops/reduce.h>
#include <plimsoll/tensor/tensor.h>

// Functions of tensors that are written in ops: they trace, carry gradients and run on every
// device.

namespace plimsoll::math {

/// Elements of `axis` moved by `by` places towards its end, those that leave it coming in again at
/// the other end.
Tensor roll(const Tensor& x, std::int64_t by, int axis);
/// Every slice of `axis` `count` times in a row: NumPy's repeat, PyTorch's repeat_interleave.
Tensor repeat(const Tensor& x, std::int64_t count, int axis);
/// In the opposite order along `axis`.
Tensor flip(const Tensor& x, int axis);

/// bool [rows, columns]: on and below diagonal `diagonal`, which is 0 for the main one and above 0
/// to its right; where `like` is.
Tensor lower_triangle(std::int64_t rows, std::int64_t columns, const Tensor& like,
                      std::int64_t diagonal = 0);
/// x [..., rows, columns] with zeros above that diagonal, and below it.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

/// Of elements over the given dimensions: the root of the sum of squares, the sum of absolute
/// values, the largest of those. The gradient of the root is 0 where all elements are 0.
enum class Norm : std::uint8_t { euclidean, absolute, largest };
Tensor norm(const Tensor& x, Norm kind = Norm::euclidean, const ops::ReduceOptions& options = {});

/// `a` where `condition` (bool) holds, else `b`; a number takes the tensor's dtype.
Tensor where(const Tensor& condition, double a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);

}  // namespace plimsoll::math
