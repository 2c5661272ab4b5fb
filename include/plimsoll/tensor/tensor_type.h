#pragma once

#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>

namespace plimsoll {

/// What a tensor is without its data: enough for shape rules, traces and plans.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  /// In row-major order without gaps.
  Bytes bytes() const { return static_cast<Bytes>(elements()) * dtype_size(dtype); }
  /// "f32 [2,3]"
  std::string to_string() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

}  // namespace plimsoll
