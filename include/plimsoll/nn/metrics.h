#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

/// The share of rows of logits [..., classes] whose largest is at the label [...] (i32 or i64), an
/// f32 scalar. Rows labelled ops::kIgnoreLabel do not count; 0 where none does.
Tensor accuracy(const Tensor& logits, const Tensor& labels);
/// The same where the label is among the `k` largest.
Tensor top_k_accuracy(const Tensor& logits, const Tensor& labels, std::int64_t k);
/// What accuracy() divides, f32 [2]: how many rows are right, and how many count. The sums over
/// several batches give the accuracy of all of them.
Tensor accuracy_counts(const Tensor& logits, const Tensor& labels);
/// The same of top_k_accuracy().
Tensor top_k_accuracy_counts(const Tensor& logits, const Tensor& labels, std::int64_t k);

/// A mean that is kept up over steps, on the device: update() also traces. Not thread-safe.
class Mean {
 public:
  /// Allocates two scalars, tagged `user`.
  explicit Mean(const Device& device);

  /// Counts `value`, an f32 scalar, `weight` times: the mean of a batch, by its size.
  void update(const Tensor& value, double weight = 1);
  /// NaN while nothing was counted. Reads the device.
  double result() const;
  void reset();

  /// What persists, for binding to a trace.
  const Tensor& total() const { return total_; }
  const Tensor& count() const { return count_; }

 private:
  Tensor total_;
  Tensor count_;
};

}  // namespace plimsoll::nn
