#pragma once

#include <plimsoll/ops/update.h>

namespace plimsoll::ops {

/// Elements that share a scale.
inline constexpr std::int64_t kMomentBlock = 256;

/// adam_update() with moments of 8 bits, for a parameter of any shape. Its elements in order are
/// blocks of 256, the last one filled up with zeros; each has scales of its own. `first` is i8 and
/// `second` u8, [blocks, 256], and the scales are f32, [blocks, 1]; all of them 0 before the first
/// step. What is kept is right in the mean: a moment is rounded up or down as often as it lies near
/// the number above or below, and when it is which depends on the element and the step alone. A
/// gradient that is not finite spoils the moments of its block.
void adam_8bit_update(const Tensor& parameter, const Tensor& first, const Tensor& first_scale,
                      const Tensor& second, const Tensor& second_scale, const Tensor& gradient,
                      const Tensor& rate, const Tensor& step, const AdamOptions& options,
                      const Tensor& enable = {});

/// The types of first, first_scale, second and second_scale.
std::vector<TensorType> packed_moments(const TensorType& parameter);

}  // namespace plimsoll::ops
