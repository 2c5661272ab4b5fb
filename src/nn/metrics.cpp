#include <plimsoll/nn/metrics.h>

#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

Tensor total_of(const Tensor& hits) { return ops::sum(ops::cast(hits, DType::f32)); }

/// [right, all], where all of `hits` count.
Tensor counts_of(const Tensor& hits) {
  const Tensor right = total_of(hits);
  const Tensor all = ops::full_like_type(right, right.type(), static_cast<double>(hits.elements()));
  return ops::stack({right, all});
}

/// The same, where hits of labels that are ignored are false already.
Tensor counts_of(const Tensor& hits, const Tensor& labels) {
  const auto ignored = static_cast<double>(ops::kIgnoreLabel);
  const Tensor counted = ops::not_equal(labels, ops::number_like(labels, ignored));
  return ops::stack({total_of(hits), total_of(counted)});
}

/// right / all; 0 where none counts.
Tensor share_of(const Tensor& counts) {
  const std::vector<Tensor> parts = ops::split(counts, {1, 1}, 0);
  const Tensor all = ops::maximum(parts[1], ops::full_like_type(counts, parts[1].type(), 1));
  return ops::reshape(ops::div(parts[0], all), Shape{});
}

/// True where each prediction is one logit for a target of 0 or 1: a number, a column of one, or a
/// picture. Rows of several are then logits for a distribution.
bool are_binary(const Tensor& logits) {
  return logits.rank() < 2 || logits.rank() > 3 || logits.dim(logits.rank() - 1) == 1;
}

void require_labels(std::string_view who, const Tensor& logits, const Tensor& labels) {
  if (logits.rank() > 0 && labels.shape() == logits.shape().with_removed(logits.rank() - 1)) return;
  throw InvalidArgument(fmt::format(
      "[{}] the predictions are {} and the targets {}; it takes a label for each row of logits{}",
      who, logits.type().to_string(), labels.type().to_string(),
      who == "accuracy" ? ", or targets of the predictions' shape" : ""));
}

}  // namespace

Tensor accuracy_counts(const Tensor& logits, const Tensor& labels) {
  if (logits.shape() == labels.shape()) {
    if (!are_binary(logits)) return counts_of(ops::equal(ops::argmax(logits), ops::argmax(labels)));
    const Tensor likely = ops::greater(logits, ops::number_like(logits, 0));
    const Tensor target = ops::cast(labels, DType::f32);
    return counts_of(
        ops::equal(ops::cast(likely, DType::f32),
                   ops::cast(ops::greater(target, ops::number_like(target, 0.5)), DType::f32)));
  }
  require_labels("accuracy", logits, labels);
  const Tensor label = ops::cast(labels, DType::i64);
  return counts_of(ops::equal(ops::argmax(logits), label), label);
}

Tensor top_k_accuracy_counts(const Tensor& logits, const Tensor& labels, std::int64_t k) {
  require_labels("top_k_accuracy", logits, labels);
  const Tensor best = ops::top_k(logits, k).second;
  const Tensor label = ops::cast(labels, DType::i64);
  const Tensor column = ops::reshape(label, labels.shape().with_inserted(labels.rank(), 1));
  return counts_of(ops::any(ops::equal(best, column), {.axes = {-1}}), label);
}

Tensor accuracy(const Tensor& logits, const Tensor& labels) {
  return share_of(accuracy_counts(logits, labels));
}

Tensor top_k_accuracy(const Tensor& logits, const Tensor& labels, std::int64_t k) {
  return share_of(top_k_accuracy_counts(logits, labels, k));
}

Mean::Mean(const Device& device)
    : total_(Tensor::zeros({}, DType::f32, device, {.label = "metric"})),
      count_(Tensor::zeros({}, DType::f32, device, {.label = "metric"})) {}

void Mean::update(const Tensor& value, double weight) {
  if (value.rank() != 0 || value.dtype() != DType::f32) {
    throw InvalidArgument("[update] the value is " + value.type().to_string() +
                          "; a mean counts one f32 number at a time, such as mean(x) with a weight "
                          "of its elements");
  }
  ops::assign(total_, ops::add(total_, ops::scale(value, weight)));
  ops::assign(count_, ops::shift(count_, weight));
}

double Mean::result() const {
  return static_cast<double>(total_.item<float>()) / static_cast<double>(count_.item<float>());
}

void Mean::reset() {
  constexpr std::array kZero = {0.0F};
  total_.copy_from(std::span<const float>(kZero));
  count_.copy_from(std::span<const float>(kZero));
}

}  // namespace plimsoll::nn
