#include <plimsoll/nn/embedding_bag.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/embedding_bag.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "nn/number.h"

namespace plimsoll::nn {
namespace {

using Mode = EmbeddingBagOptions::Mode;
/// Less than any element of a bag, and finite in 16 bits.
constexpr double kLeast = -6e4;

}  // namespace

EmbeddingBag::EmbeddingBag(std::int64_t count, std::int64_t features,
                           const EmbeddingBagOptions& options)
    : options_(options),
      weight_(parameter("weight", {count, features}, Init::normal(options.deviation))) {}

Tensors EmbeddingBag::forward_all(const Tensors& inputs) const {
  if (inputs.empty() || inputs.size() > 2) {
    throw InvalidArgument(
        fmt::format("[EmbeddingBag] {} inputs; it takes ids, or ids and weights", inputs.size()));
  }
  return {bags(inputs[0], inputs.size() > 1 ? inputs[1] : Tensor())};
}

Tensor EmbeddingBag::bags(const Tensor& ids, const Tensor& weights) const {
  if (ids.rank() != 2 || ids.dim(1) == 0) {
    throw InvalidArgument(
        fmt::format("[EmbeddingBag] ids are {}; it takes [n, bag], with shorter "
                    "bags filled up by padding_id",
                    ids.type().to_string()));
  }
  if (weights.defined() && (options_.mode != Mode::sum || weights.shape() != ids.shape())) {
    throw InvalidArgument(
        fmt::format("[EmbeddingBag] weights {} for ids {}; they are for "
                    "the mode sum, and one for each id",
                    weights.type().to_string(), ids.type().to_string()));
  }
  if (options_.mode != Mode::max && !weights.defined()) {
    const Tensor sums = ops::embedding_bag(weight_, ids, options_.padding_id);
    return in_compute_dtype(options_.mode == Mode::sum ? sums : means(sums, ids));
  }
  Tensor rows = in_compute_dtype(ops::embedding(weight_, ids));
  const Shape each{ids.dim(0), ids.dim(1), 1};
  Tensor counts;  // bool
  if (options_.padding_id >= 0) {
    counts = ops::reshape(
        ops::not_equal(ids, number(ids, static_cast<double>(options_.padding_id))), each);
    const double absent = options_.mode == Mode::max ? kLeast : 0;
    rows = ops::where(counts, rows, number(rows, absent));
  }
  if (weights.defined()) {
    rows = ops::mul(rows, ops::cast(ops::reshape(weights, each), rows.dtype()));
  }
  if (options_.mode == Mode::max) {
    Tensor largest = ops::max(rows, {.axes = {1}});
    if (!counts.defined()) return largest;
    return ops::where(ops::any(counts, {.axes = {1}}), largest, number(largest, 0));
  }
  return ops::sum(rows, {.axes = {1}});
}

Tensor EmbeddingBag::means(const Tensor& sums, const Tensor& ids) const {
  if (options_.padding_id < 0) return ops::scale(sums, 1.0 / static_cast<double>(ids.dim(1)));
  const Tensor counts = ops::not_equal(ids, number(ids, static_cast<double>(options_.padding_id)));
  const Tensor present = ops::sum(ops::cast(counts, DType::f32), {.axes = {1}, .keep_dims = true});
  const Tensor divisor = ops::maximum(present, number(present, 1));
  return ops::div(sums, ops::cast(divisor, sums.dtype()));
}

}  // namespace plimsoll::nn
