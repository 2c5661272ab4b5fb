// Losses of vectors: how alike, how far apart.
#include <plimsoll/nn/losses.h>

#include "nn/loss_inputs.h"
#include "nn/number.h"

namespace plimsoll::nn {
namespace {

/// Rows of one shape, in f32 or f64.
std::pair<Tensor, Tensor> rows(const char* who, const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.rank() < 1) {
    throw InvalidArgument(
        fmt::format("[{}] vectors have shapes {} and {}; they need one, [..., "
                    "features]",
                    who, a.shape().to_string(), b.shape().to_string()));
  }
  const Tensor wide = widened(a);
  return {wide, ops::cast(b, wide.dtype())};
}

Tensor check_same(const char* who, const Tensor& same, const Tensor& each) {
  if (same.shape() != each.shape()) {
    throw InvalidArgument(fmt::format("[{}] `same` has shape {} for pairs {}; give one for each",
                                      who, same.shape().to_string(), each.shape().to_string()));
  }
  return ops::cast(same, each.dtype());
}

Tensor sum_of_rows(const Tensor& x) { return ops::sum(x, {.axes = {-1}}); }

/// |a - b|, kept from 0, where a root has no derivative, as PyTorch keeps it.
Tensor distance(const Tensor& a, const Tensor& b) {
  return ops::sqrt(sum_of_rows(ops::square(ops::shift(ops::sub(a, b), 1e-6))));
}

}  // namespace

Tensor cosine_similarity(const Tensor& a, const Tensor& b, double epsilon) {
  const auto [x, y] = rows("cosine_similarity", a, b);
  const Tensor least = number(x, epsilon * epsilon);
  const auto length = [&](const Tensor& v) {
    return ops::sqrt(ops::maximum(sum_of_rows(ops::square(v)), least));
  };
  return ops::div(sum_of_rows(ops::mul(x, y)), ops::mul(length(x), length(y)));
}

Tensor cosine_distance(const Tensor& a, const Tensor& b, const Tensor& weights) {
  const Tensor away = ops::shift(ops::neg(cosine_similarity(a, b)), 1);
  return weighed_mean("cosine_distance", away, weights);
}

Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& same, double margin) {
  const Tensor similarity = cosine_similarity(a, b);
  const Tensor sign = check_same("cosine_embedding", same, similarity);
  const Tensor alike = ops::shift(ops::neg(similarity), 1);
  const Tensor apart = ops::relu(ops::shift(similarity, -margin));
  return ops::mean(ops::where(ops::greater(sign, number(sign, 0)), alike, apart));
}

Tensor contrastive(const Tensor& a, const Tensor& b, const Tensor& same, double margin) {
  check_above_zero("contrastive", "margin", margin);
  const auto [x, y] = rows("contrastive", a, b);
  const Tensor d = distance(x, y);
  const Tensor is_same = check_same("contrastive", same, d);
  const Tensor within = ops::relu(ops::shift(ops::neg(d), margin));
  return ops::mean(
      ops::where(ops::greater(is_same, number(d, 0.5)), ops::square(d), ops::square(within)));
}

Tensor triplet(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
               double margin) {
  check_not_negative("triplet", "margin", margin);
  const auto [a, p] = rows("triplet", anchor, positive);
  const auto [again, n] = rows("triplet", anchor, negative);
  return ops::mean(ops::relu(ops::shift(ops::sub(distance(a, p), distance(again, n)), margin)));
}

}  // namespace plimsoll::nn
