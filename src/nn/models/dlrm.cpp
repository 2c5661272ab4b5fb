#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

#include "nn/number.h"

namespace plimsoll::nn {
namespace {

/// Dense layers "0", "1", ... with relu behind each but, if it is the model's last, the last.
class Layers final : public Module {
 public:
  Layers(std::int64_t in, const std::vector<std::int64_t>& widths, bool last) : last_(last) {
    for (const std::int64_t width : widths) {
      layers_.push_back(add(fmt::format("{}", layers_.size()),
                            Dense(width, {.in = in, .init = Init::he_normal(in)})));
      in = width;
    }
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      y = layers_[i](y);
      if (!last_ || i + 1 < layers_.size()) y = ops::relu(y);
    }
    return y;
  }

 private:
  bool last_;
  std::vector<Dense> layers_;
};

std::vector<std::int64_t> with(std::vector<std::int64_t> widths, std::int64_t last) {
  widths.push_back(last);
  return widths;
}

/// Where the elements below the diagonal of a matrix [count, count] are in it, row by row: i64.
Tensor below_diagonal(std::int64_t count, const Tensor& like) {
  // Element k is in row (1 + sqrt(1 + 8k)) / 2, whose first is element row (row - 1) / 2; roots of
  // squares are exact.
  const Tensor k = ops::arange(count * (count - 1) / 2, DType::f64, like);
  const Tensor root = ops::sqrt(ops::shift(ops::scale(k, 8), 1));
  const Tensor row = ops::floor(ops::scale(ops::shift(root, 1), 0.5));
  const Tensor first = ops::scale(ops::mul(row, ops::shift(row, -1)), 0.5);
  const Tensor column = ops::sub(k, first);
  return ops::cast(ops::add(ops::scale(row, static_cast<double>(count)), column), DType::i64);
}

class Dlrm final : public Module {
 public:
  explicit Dlrm(const DlrmOptions& options)
      : options_(options),
        bottom_(
            add("bottom", Layers(options.dense, with(options.bottom, options.features), false))),
        tables_(add("tables",
                    EmbeddingBag(options.tables * options.rows, options.features,
                                 {.mode = EmbeddingBagOptions::Mode::sum,
                                  .padding_id = 0,
                                  .deviation = 1 / std::sqrt(static_cast<double>(options.rows))}))),
        top_(add("top", Layers(interactions(), with(options.top, 1), true))) {}

  std::vector<TensorType> batch_types(std::int64_t n) const override {
    return {{DType::i64, {n, options_.dense + options_.tables * options_.bag}}, {DType::i64, {n}}};
  }

  Tensor forward(const Tensor& x) const override {
    const std::int64_t n = x.dim(0);
    const std::int64_t vectors = options_.tables + 1;
    const Tensor counts = ops::cast(ops::slice(x, 1, 0, options_.dense), DType::f32);
    const Tensor dense = bottom_(ops::log(ops::shift(ops::relu(counts), 1)));  // [n, features]
    const Tensor bags = tables_(rows_of(ops::slice(x, 1, options_.dense)));
    const Tensor all =
        ops::concat({ops::reshape(dense, Shape{n, 1, options_.features}),
                     ops::cast(ops::reshape(bags, Shape{n, options_.tables, options_.features}),
                               dense.dtype())},
                    1);
    const Tensor products =
        ops::reshape(ops::matmul(all, all, {.transpose_b = true}), Shape{n, vectors * vectors});
    const Tensor pairs = ops::gather(products, below_diagonal(vectors, x), 1);
    return ops::reshape(top_(ops::concat({dense, pairs}, 1)), Shape{n});
  }

  Tensor loss(const Tensor& input, const Tensor& target) const override {
    const Tensor logits = ops::cast((*this)(input), DType::f32);
    return binary_cross_entropy(logits, ops::cast(target, DType::f32));
  }

 private:
  std::int64_t interactions() const {
    const std::int64_t vectors = options_.tables + 1;
    return options_.features + vectors * (vectors - 1) / 2;
  }

  /// Ids [n, tables * bag] of each table as rows of all, in bags: [n * tables, bag]. Padding is row
  /// 0; an id that its table does not have is none of any table.
  Tensor rows_of(const Tensor& ids) const {
    const std::int64_t n = ids.dim(0);
    const Tensor each = ops::reshape(ids, Shape{n, options_.tables, options_.bag});
    const Tensor first = ops::reshape(ops::scale(ops::arange(options_.tables, DType::i64, ids),
                                                 static_cast<double>(options_.rows)),
                                      Shape{1, options_.tables, 1});
    const Tensor zero = number(ids, 0);
    const Tensor above =
        ops::shift(each, static_cast<double>(options_.tables) * static_cast<double>(options_.rows));
    const Tensor below =
        ops::where(ops::less(each, number(ids, static_cast<double>(options_.rows))),
                   ops::add(each, first), above);
    const Tensor rows = ops::where(ops::greater(each, zero), below, each);
    return ops::reshape(rows, Shape{n * options_.tables, options_.bag});
  }

  DlrmOptions options_;
  Layers bottom_;
  EmbeddingBag tables_;
  Layers top_;
};

}  // namespace

Model dlrm(const DlrmOptions& options) {
  const auto check = [](const char* what, std::int64_t value) {
    if (value < 1) {
      throw InvalidArgument(fmt::format("[dlrm] {} is {}; it must be at least 1", what, value));
    }
  };
  check("dense", options.dense);
  check("tables", options.tables);
  check("rows", options.rows);
  check("features", options.features);
  check("bag", options.bag);
  for (const std::int64_t width : options.bottom) check("a width of bottom", width);
  for (const std::int64_t width : options.top) check("a width of top", width);
  return Dlrm(options);
}

}  // namespace plimsoll::nn
