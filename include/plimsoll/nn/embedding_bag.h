#pragma once

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

struct EmbeddingBagOptions {
  enum class Mode : std::uint8_t { sum, mean, max };
  Mode mode = Mode::mean;
  /// Ids that fill up bags and do not count; below 0: all count.
  std::int64_t padding_id = -1;
  double deviation = 1.0;  ///< of the normal distribution that `weight` starts with
};

/// Rows of `weight` [count, features] at the ids [n, bag] (i32 or i64), reduced over each bag: [n,
/// features]. All bags have one size; shorter ones are filled up with `padding_id`, and an empty
/// one gives zeros. forward_all({ids, weights}) with weights [n, bag] is a weighed sum, for
/// Mode::sum. Planned steps update only the rows that were read where the optimizer allows it; see
/// graph/row_updates.h.
class EmbeddingBag final : public Module {
 public:
  EmbeddingBag(std::int64_t count, std::int64_t features, const EmbeddingBagOptions& options = {});
  Tensor forward(const Tensor& ids) const override { return bags(ids, {}); }
  Tensors forward_all(const Tensors& inputs) const override;

 private:
  Tensor bags(const Tensor& ids, const Tensor& weights) const;
  Tensor means(const Tensor& sums, const Tensor& ids) const;

  EmbeddingBagOptions options_;
  Parameter weight_;
};

}  // namespace plimsoll::nn
