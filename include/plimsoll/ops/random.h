#pragma once

#include <plimsoll/ops/scalar.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// A tensor of `type` with `value` in every element, on `like`'s device or in its trace.
Tensor full_like_type(const Tensor& like, const TensorType& type, const Scalar& value);
Tensor full(const Shape& shape, const Scalar& value, DType dtype, const Device& device);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
/// 0, 1, ... count - 1.
Tensor arange(std::int64_t count, DType dtype, const Tensor& like);

// Random draws: functions of the RandomScope's key, the op's place in the step and the element's
// index, and of nothing else: a longer draw begins with the shorter one's numbers. They are drawn
// in f32, with 24 random bits each. InvalidArgument for low above high and a negative deviation.

Tensor random_uniform(const TensorType& type, double low, double high, const Tensor& like);
Tensor random_uniform(const TensorType& type, double low, double high, const Device& device);
Tensor random_normal(const TensorType& type, double mean, double deviation, const Tensor& like);
Tensor random_normal(const TensorType& type, double mean, double deviation, const Device& device);

}  // namespace plimsoll::ops
