#pragma once

#include <plimsoll/base/dtype.h>

namespace plimsoll::ops {

/// What sums over elements of `dtype` are kept in.
inline DType sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace plimsoll::ops
