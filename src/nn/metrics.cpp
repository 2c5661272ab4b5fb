#include <plimsoll/nn/metrics.h>

#include <array>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {

Tensor accuracy(const Tensor& logits, const Tensor& labels) {
  const Tensor hits = ops::equal(ops::argmax(logits), ops::cast(labels, DType::i64));
  return ops::mean(ops::cast(hits, DType::f32));
}

Tensor top_k_accuracy(const Tensor& logits, const Tensor& labels, std::int64_t k) {
  const Tensor best = ops::top_k(logits, k).second;
  const Tensor column =
      ops::reshape(ops::cast(labels, DType::i64), labels.shape().with_inserted(labels.rank(), 1));
  const Tensor hits = ops::any(ops::equal(best, column), {.axes = {-1}});
  return ops::mean(ops::cast(hits, DType::f32));
}

Mean::Mean(const Device& device)
    : total_(Tensor::zeros({}, DType::f32, device, {.label = "metric"})),
      count_(Tensor::zeros({}, DType::f32, device, {.label = "metric"})) {}

void Mean::update(const Tensor& value, double weight) {
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
