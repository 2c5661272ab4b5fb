#include <plimsoll/nn/losses.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/softmax.h>

namespace plimsoll::nn {
namespace {

Tensor widened(const Tensor& x) { return x.dtype() == DType::f64 ? x : ops::cast(x, DType::f32); }

/// Both in f32 or f64, of one shape: a loss that broadcasts is a mistake more often than not.
std::pair<Tensor, Tensor> pair(const char* who, const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() != target.shape()) {
    throw InvalidArgument(fmt::format("[{}] predictions have shape {}, targets {}; reshape one",
                                      who, prediction.shape().to_string(),
                                      target.shape().to_string()));
  }
  const Tensor wide = widened(prediction);
  return {wide, ops::cast(target, wide.dtype())};
}

void check_smoothing(double smoothing) {
  if (!(smoothing >= 0 && smoothing < 1)) {
    throw InvalidArgument(
        fmt::format("[cross_entropy] smoothing is {}; it must be in [0, 1)", smoothing));
  }
}

}  // namespace

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  const auto [x, y] = pair("mean_squared_error", prediction, target);
  return ops::mean(ops::square(ops::sub(x, y)));
}

Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target) {
  const auto [x, y] = pair("mean_absolute_error", prediction, target);
  return ops::mean(ops::abs(ops::sub(x, y)));
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options) {
  check_smoothing(options.smoothing);
  const Tensor rows = ops::cross_entropy(logits, labels, options.smoothing);
  const Tensor ignored =
      ops::full_like_type(labels, {labels.dtype(), {}}, static_cast<double>(ops::kIgnoreLabel));
  const Tensor counted = ops::sum(ops::cast(ops::not_equal(labels, ignored), rows.dtype()));
  return ops::div(ops::sum(rows),
                  ops::maximum(counted, ops::full_like_type(rows, {rows.dtype(), {}}, 1)));
}

Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  check_smoothing(options.smoothing);
  const auto [x, y] = pair("cross_entropy_dense", logits, targets);
  if (options.smoothing == 0) return ops::mean(ops::cross_entropy_dense(x, y));
  const Tensor smooth = ops::shift(ops::scale(y, 1 - options.smoothing),
                                   options.smoothing / static_cast<double>(x.dim(-1)));
  return ops::mean(ops::cross_entropy_dense(x, smooth));
}

Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const auto [x, y] = pair("binary_cross_entropy", logits, targets);
  return ops::mean(ops::sub(ops::softplus(x), ops::mul(x, y)));
}

}  // namespace plimsoll::nn
