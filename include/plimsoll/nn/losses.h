#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

// Each is a scalar: the mean over all elements or rows, in f32 (f64 for f64) whatever the dtype of
// the predictions.

/// (prediction - target)²
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target);
/// |prediction - target|
Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target);

struct CrossEntropyOptions {
  /// The share of the label that is spread over all classes, in [0, 1).
  double smoothing = 0;
};
/// Of logits [..., classes] with labels [...] (i32 or i64); the mean is over the rows whose label
/// is not ops::kIgnoreLabel, and 0 if there are none.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options = {});
/// Of logits [..., classes] with a distribution over the classes for each row.
Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options = {});
/// Of logits with probabilities between 0 and 1, element by element.
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets);

}  // namespace plimsoll::nn
