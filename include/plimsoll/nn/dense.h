#pragma once

#include <optional>

#include <plimsoll/nn/weight_form.h>

namespace plimsoll::nn {

struct DenseOptions {
  std::int64_t in = 0;  ///< features that come in; 0: those of the first input
  bool bias = true;
  /// The weight lies as [in, out], as in GPT-2's files, and not as [out, in].
  bool transposed = false;
  /// Default: Init::fan_in_uniform for both. With a weight's given, the bias starts at 0.
  std::optional<Init> init = {};
  /// Weight or spectral normalisation; InvalidArgument together with `transposed`.
  WeightForm form = WeightForm::plain;
};

/// x [..., in] times the transpose of `weight` [out, in], plus `bias` [out].
class Dense final : public WeightedModule {
 public:
  explicit Dense(std::int64_t out, const DenseOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  /// InvalidArgument as long as it is not known what comes in.
  const Parameter& weight() const;
  /// Null if it has none, or as long as it is not known what comes in.
  const Parameter* bias() const { return own("bias"); }

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  DenseOptions options_;
};

/// Rows of `weight` [count, features] at the ids (i32 or i64): the ids' shape, then features.
class Embedding final : public Module {
 public:
  /// Starts normal with the given deviation.
  Embedding(std::int64_t count, std::int64_t features, double deviation = 1.0);
  Tensor forward(const Tensor& ids) const override;
  const Parameter& weight() const { return weight_; }

 private:
  Parameter weight_;
};

/// `x` in the dtype of the PrecisionScope in force, so that what is computed from it is narrow,
/// too; itself without one.
Tensor in_compute_dtype(const Tensor& x);

}  // namespace plimsoll::nn
