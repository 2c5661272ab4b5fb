#pragma once

#include <cstdint>
#include <span>

#include <plimsoll/tensor/tensor.h>

// What classifiers are measured by, streaming: each batch gives counts on the device, counts of all
// batches are added up, and the host makes numbers of them. Trainers know these by name:
// "precision", "recall", "f1", "auc", ... (train/metric.h).

namespace plimsoll::nn {

/// [4] f32: true positives, false positives, false negatives, true negatives. `logits` and
/// `targets` have one shape; a probability of `threshold` and more is a yes, as is a target of 0.5
/// and more.
Tensor binary_counts(const Tensor& logits, const Tensor& targets, double threshold = 0.5);

/// What binary_counts() add up to, or one class against all others. Each is 0 where its divisor is.
struct BinaryCounts {
  double true_positives = 0;
  double false_positives = 0;
  double false_negatives = 0;
  double true_negatives = 0;
  /// From four totals.
  static BinaryCounts of(std::span<const double> totals);
  double precision() const;
  double recall() const;
  double f1() const;
  double accuracy() const;
};

/// [2 * bins] f32: how many positive targets, then how many negative ones, were given a probability
/// in each of `bins` bins between 0 and 1.
Tensor roc_counts(const Tensor& logits, const Tensor& targets, std::int64_t bins = 200);
/// The area under the ROC curve, from the totals of roc_counts(): the probability that a positive
/// one is given more than a negative one, those of one bin counting half. NaN without both.
double auc(std::span<const double> totals);

/// [classes, classes] f32: how many rows with each label (down) were said to be each class
/// (across), of logits [..., classes] and labels [...]. Labels that are ignored do not count.
Tensor confusion_counts(const Tensor& logits, const Tensor& labels);

/// A confusion matrix that is kept up over batches, on the device: update() also traces. Not
/// thread-safe.
class ConfusionMatrix {
 public:
  /// Allocates classes² f32, tagged `user`.
  ConfusionMatrix(std::int64_t classes, const Device& device);
  void update(const Tensor& logits, const Tensor& labels);
  void reset();
  /// [classes, classes]: labels down, predictions across.
  const Tensor& counts() const { return counts_; }
  /// One class against all others. Reads the device. InvalidArgument if there is no such class.
  BinaryCounts of(std::int64_t label) const;
  /// The share of rows that are on the diagonal; NaN without any.
  double accuracy() const;

 private:
  std::int64_t classes_;
  Tensor counts_;
};

}  // namespace plimsoll::nn
