#pragma once

#include <plimsoll/ops/op_def.h>

// What the gradients of matrix ops are written in.

namespace plimsoll::ops {

inline constexpr DTypeSet kMatrixDTypes = {DType::f64, DType::f32};

/// The last two dimensions exchanged.
Tensor transposed(const Tensor& x);
/// bool [rows, columns]: on and below the diagonal.
Tensor lower_mask(std::int64_t rows, std::int64_t columns, const Tensor& like);
/// Matrices with zeros above the diagonal, or below it.
Tensor triangle(const Tensor& x, bool upper);
/// Square matrices with zeros everywhere but on the diagonal.
Tensor on_diagonal(const Tensor& x);

}  // namespace plimsoll::ops
