#include <plimsoll/nn/counts.h>

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/update.h>

#include "nn/number.h"

namespace plimsoll::nn {
namespace {

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

void check_shapes(const char* who, const Tensor& logits, const Tensor& targets) {
  if (logits.shape() != targets.shape()) {
    throw InvalidArgument(fmt::format("[{}] predictions have shape {}, targets {}; reshape one",
                                      who, logits.shape().to_string(),
                                      targets.shape().to_string()));
  }
}

/// bool, flat: which targets are positive.
Tensor positives(const Tensor& targets) {
  const Tensor flat = ops::reshape(ops::cast(targets, DType::f32), Shape{targets.elements()});
  return ops::greater_equal(flat, number(flat, 0.5));
}

/// How many there are of each of `count` indices, those counting that `weights` says.
Tensor histogram(const Tensor& indices, const Tensor& weights, std::int64_t count) {
  return ops::scatter_add(weights, indices, Shape{count});
}

}  // namespace

Tensor binary_counts(const Tensor& logits, const Tensor& targets, double threshold) {
  check_shapes("binary_counts", logits, targets);
  if (!(threshold > 0 && threshold < 1)) {
    throw InvalidArgument(
        fmt::format("[binary_counts] a threshold of {}; it must be in (0, 1)", threshold));
  }
  const Tensor flat = ops::reshape(ops::cast(logits, DType::f32), Shape{logits.elements()});
  const Tensor said = ops::greater_equal(flat, number(flat, std::log(threshold / (1 - threshold))));
  const Tensor is = positives(targets);
  const Tensor index = ops::add(ops::scale(ops::cast(ops::logical_not(said), DType::i64), 2),
                                ops::cast(ops::not_equal(said, is), DType::i64));
  // Said and is: 0; said only: 1; neither: 2; is only: 3. The last two change places.
  const std::vector<Tensor> parts =
      ops::split(histogram(index, ops::ones_like(flat), 4), {1, 1, 1, 1}, 0);
  return ops::concat({parts[0], parts[1], parts[3], parts[2]}, 0);
}

BinaryCounts BinaryCounts::of(std::span<const double> totals) {
  if (totals.size() != 4) {
    throw InvalidArgument(fmt::format("[BinaryCounts] {} totals; there are four", totals.size()));
  }
  return {totals[0], totals[1], totals[2], totals[3]};
}
double BinaryCounts::precision() const {
  return share(true_positives, true_positives + false_positives);
}
double BinaryCounts::recall() const {
  return share(true_positives, true_positives + false_negatives);
}
double BinaryCounts::f1() const {
  return share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}
double BinaryCounts::accuracy() const {
  return share(true_positives + true_negatives,
               true_positives + true_negatives + false_positives + false_negatives);
}

Tensor roc_counts(const Tensor& logits, const Tensor& targets, std::int64_t bins) {
  check_shapes("roc_counts", logits, targets);
  if (bins < 2) {
    throw InvalidArgument(fmt::format("[roc_counts] {} bins; there must be two at least", bins));
  }
  const Tensor flat = ops::reshape(ops::cast(logits, DType::f32), Shape{logits.elements()});
  const Tensor at = ops::scale(ops::sigmoid(flat), static_cast<double>(bins));
  const Tensor bin =
      ops::clip(ops::cast(ops::floor(at), DType::i64), 0, static_cast<double>(bins - 1));
  const Tensor is = positives(targets);
  const Tensor offset =
      ops::scale(ops::cast(ops::logical_not(is), DType::i64), static_cast<double>(bins));
  return histogram(ops::add(bin, offset), ops::ones_like(flat), 2 * bins);
}

double auc(std::span<const double> totals) {
  const std::size_t bins = totals.size() / 2;
  double positive = 0;
  double negative = 0;
  double won = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    won += totals[i] * (negative + totals[bins + i] / 2);
    positive += totals[i];
    negative += totals[bins + i];
  }
  if (positive == 0 || negative == 0) return std::numeric_limits<double>::quiet_NaN();
  return won / (positive * negative);
}

Tensor confusion_counts(const Tensor& logits, const Tensor& labels) {
  const std::int64_t classes = logits.rank() > 0 ? logits.dim(-1) : 0;
  if (logits.rank() != labels.rank() + 1 ||
      logits.shape().with_removed(labels.rank()) != labels.shape()) {
    throw InvalidArgument(
        fmt::format("[confusion_counts] logits have shape {}, labels {}; logits "
                    "have one dimension more, the classes",
                    logits.shape().to_string(), labels.shape().to_string()));
  }
  const Shape flat{labels.elements()};
  const Tensor label = ops::reshape(ops::cast(labels, DType::i64), flat);
  const Tensor said = ops::reshape(ops::argmax(logits), flat);
  const Tensor counts = ops::cast(
      ops::not_equal(label, number(label, static_cast<double>(ops::kIgnoreLabel))), DType::f32);
  const auto last = static_cast<double>(classes - 1);
  const Tensor index =
      ops::add(ops::scale(ops::clip(label, 0, last), static_cast<double>(classes)), said);
  return ops::reshape(histogram(index, counts, classes * classes), Shape{classes, classes});
}

ConfusionMatrix::ConfusionMatrix(std::int64_t classes, const Device& device) : classes_(classes) {
  if (classes < 1) {
    throw InvalidArgument(
        fmt::format("[ConfusionMatrix] {} classes; there must be at least one", classes));
  }
  counts_ = Tensor::zeros({classes, classes}, DType::f32, device, {.label = "metric"});
}

void ConfusionMatrix::update(const Tensor& logits, const Tensor& labels) {
  const Tensor more = confusion_counts(logits, labels);
  if (more.shape() != counts_.shape()) {
    throw InvalidArgument(
        fmt::format("[ConfusionMatrix] logits have {} classes; it has {}", more.dim(0), classes_));
  }
  ops::assign(counts_, ops::add(counts_, more));
}

void ConfusionMatrix::reset() {
  const std::vector<float> zeros(static_cast<std::size_t>(classes_ * classes_));
  counts_.copy_from(std::span<const float>(zeros));
}

BinaryCounts ConfusionMatrix::of(std::int64_t label) const {
  if (label < 0 || label >= classes_) {
    throw InvalidArgument(
        fmt::format("[ConfusionMatrix] there is no class {}; it has {}", label, classes_));
  }
  const auto all = counts_.to_vector<float>();
  BinaryCounts counts;
  for (std::int64_t row = 0; row < classes_; ++row) {
    for (std::int64_t column = 0; column < classes_; ++column) {
      const auto value =
          static_cast<double>(all[static_cast<std::size_t>(row * classes_ + column)]);
      const bool is = row == label;
      const bool said = column == label;
      (said ? (is ? counts.true_positives : counts.false_positives)
            : (is ? counts.false_negatives : counts.true_negatives)) += value;
    }
  }
  return counts;
}

double ConfusionMatrix::accuracy() const {
  const auto all = counts_.to_vector<float>();
  double right = 0;
  double rows = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    rows += static_cast<double>(all[i]);
    if (i % static_cast<std::size_t>(classes_ + 1) == 0) right += static_cast<double>(all[i]);
  }
  return right / rows;
}

}  // namespace plimsoll::nn
