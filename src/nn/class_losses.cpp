// Losses of classes and distributions: cross-entropy and its kin.
#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/softmax.h>

#include "nn/loss_inputs.h"

namespace plimsoll::nn {
namespace {

void check_smoothing(double smoothing) {
  if (!(smoothing >= 0 && smoothing < 1)) {
    throw InvalidArgument(
        fmt::format("[cross_entropy] smoothing is {}; it must be in [0, 1)", smoothing));
  }
}

/// 1 where a label counts, else 0.
Tensor counted(const Tensor& labels, DType dtype) {
  const Tensor ignored =
      ops::full_like_type(labels, {labels.dtype(), {}}, static_cast<double>(ops::kIgnoreLabel));
  return ops::cast(ops::not_equal(labels, ignored), dtype);
}

/// The sum divided by what counts, and 0 if nothing does.
Tensor mean_of_counted(const Tensor& rows, const Tensor& counts) {
  return ops::div(ops::sum(rows),
                  ops::maximum(ops::sum(counts), ops::full_like_type(rows, {rows.dtype(), {}}, 1)));
}

/// One for each class, in `dtype`; no gradients go to them.
Tensor weights_of_classes(const Tensor& class_weights, std::int64_t classes, DType dtype) {
  if (class_weights.shape() != Shape{classes}) {
    throw InvalidArgument(
        fmt::format("[cross_entropy] class_weights have shape {} for {} classes; "
                    "give one for each class, [{}]",
                    class_weights.shape().to_string(), classes, classes));
  }
  return ops::stop_gradient(ops::cast(class_weights, dtype));
}

/// What each label is worth; 0 for those that are ignored.
Tensor worth(const Tensor& class_weights, const Tensor& labels, const Tensor& counts,
             std::int64_t classes) {
  const Tensor each = weights_of_classes(class_weights, classes, counts.dtype());
  const Tensor within = ops::clip(labels, 0, static_cast<double>(classes - 1));
  return ops::mul(ops::gather(each, within), counts);
}

/// (1 - smoothing) times the label's share, plus all classes' alike, each class times its weight.
Tensor weighed_rows(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options,
                    const Tensor& worths, const Tensor& counts) {
  const Tensor rows = ops::mul(ops::cross_entropy(logits, labels, 0), worths);
  if (options.smoothing == 0) return rows;
  const Tensor logs = ops::log_softmax(widened(logits));
  const Tensor each = ops::stop_gradient(ops::cast(options.class_weights, logs.dtype()));
  const Tensor all = ops::mean(ops::mul(logs, each), {.axes = {-1}});
  return ops::sub(ops::scale(rows, 1 - options.smoothing),
                  ops::scale(ops::mul(all, counts), options.smoothing));
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options) {
  if (is_floating(labels.dtype()) && labels.shape() == logits.shape()) {
    return cross_entropy_dense(logits, labels, options);
  }
  check_smoothing(options.smoothing);
  if (labels.dtype() == DType::bytes) {
    throw InvalidArgument(
        fmt::format("[cross_entropy] labels are {}; give the numbers of the classes, from 0, as "
                    "i64 or i32",
                    labels.type().to_string()));
  }
  const DType wide = logits.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor counts = counted(labels, wide);
  if (!options.class_weights.defined()) {
    const Tensor rows = ops::cross_entropy(logits, labels, options.smoothing);
    if (!options.weights.defined()) return mean_of_counted(rows, counts);
    if (options.weights.shape() != labels.shape()) {
      throw InvalidArgument(
          fmt::format("[cross_entropy] weights have shape {} for labels {}; give "
                      "one for each label",
                      options.weights.shape().to_string(), labels.shape().to_string()));
    }
    return weighed_mean("cross_entropy", rows, ops::mul(ops::cast(options.weights, wide), counts));
  }
  Tensor worths = worth(options.class_weights, labels, counts, logits.dim(-1));
  Tensor rows = weighed_rows(logits, labels, options, worths, counts);
  if (options.weights.defined()) {
    const Tensor each = ops::stop_gradient(ops::cast(options.weights, wide));
    rows = ops::mul(rows, each);
    worths = ops::mul(worths, each);
  }
  const Tensor total = ops::sum(worths);
  const Tensor none = ops::equal(total, ops::full_like_type(total, total.type(), 0));
  return ops::div(ops::sum(rows),
                  ops::where(none, ops::full_like_type(total, total.type(), 1), total));
}

Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  check_smoothing(options.smoothing);
  const auto [x, y] = pair("cross_entropy_dense", logits, targets);
  Tensor smooth = y;
  if (options.smoothing != 0) {
    smooth = ops::shift(ops::scale(y, 1 - options.smoothing),
                        options.smoothing / static_cast<double>(x.dim(-1)));
  }
  if (options.class_weights.defined()) {
    smooth = ops::mul(smooth, weights_of_classes(options.class_weights, x.dim(-1), x.dtype()));
  }
  return weighed_mean("cross_entropy_dense", ops::cross_entropy_dense(x, smooth), options.weights);
}

Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets) {
  return binary_cross_entropy(logits, targets, {});
}
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weights) {
  const auto [x, y] = pair("binary_cross_entropy", logits, targets);
  return weighed_mean("binary_cross_entropy", ops::sub(ops::softplus(x), ops::mul(x, y)), weights);
}

Tensor focal(const Tensor& logits, const Tensor& labels, double gamma) {
  check_not_negative("focal", "gamma", gamma);
  const Tensor rows = ops::cross_entropy(logits, labels);
  // A row is -log(p). (1 - p)^gamma would have an infinite derivative at p = 1 for gamma below 1.
  const Tensor others = ops::clip(ops::shift(ops::neg(ops::exp(ops::neg(rows))), 1), 1e-12, 1);
  const Tensor factor =
      gamma == 2 ? ops::square(others) : ops::exp(ops::scale(ops::log(others), gamma));
  return mean_of_counted(ops::mul(rows, factor), counted(labels, rows.dtype()));
}

Tensor binary_focal(const Tensor& logits, const Tensor& targets, double gamma, double alpha) {
  check_not_negative("binary_focal", "gamma", gamma);
  if (alpha > 1) {
    throw InvalidArgument(fmt::format("[binary_focal] alpha is {}; it must be at most 1", alpha));
  }
  const auto [x, y] = pair("binary_focal", logits, targets);
  const Tensor loss = ops::sub(ops::softplus(x), ops::mul(x, y));
  // log(1 - p) of what the target is given: softplus of the logit turned towards it, less that.
  const Tensor turned = ops::mul(x, ops::shift(ops::scale(y, 2), -1));
  const Tensor log_others = ops::neg(ops::softplus(turned));
  Tensor all = ops::mul(loss, ops::exp(ops::scale(log_others, gamma)));
  if (alpha >= 0) {
    all = ops::mul(all, ops::shift(ops::scale(y, 2 * alpha - 1), 1 - alpha));
  }
  return ops::mean(all);
}

Tensor kl_divergence(const Tensor& log_prediction, const Tensor& target, const Tensor& weights) {
  const auto [x, y] = pair("kl_divergence", log_prediction, target);
  if (x.rank() < 1) {
    throw InvalidArgument(
        "[kl_divergence] a number is not a distribution; it takes [..., classes]");
  }
  // 0 log(0) is 0.
  const Tensor zero = ops::full_like_type(y, {y.dtype(), {}}, 0);
  const Tensor one = ops::full_like_type(y, {y.dtype(), {}}, 1);
  const Tensor logs = ops::log(ops::where(ops::greater(y, zero), y, one));
  const Tensor rows = ops::sum(ops::mul(y, ops::sub(logs, x)), {.axes = {-1}});
  return weighed_mean("kl_divergence", rows, weights);
}

}  // namespace plimsoll::nn
