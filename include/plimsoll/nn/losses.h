#pragma once

#include <cstdint>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

// Each is a scalar unless it says otherwise: the mean over all elements or rows, in f32 (f64 for
// f64) whatever the dtype of the predictions.
//
// `weights`, where it is defined, says how much each counts: the sum of weight times loss, divided
// by the sum of the weights. It has one for each element (or row), or one for each element of the
// batch, [n]. Keras divides by the number instead. No gradient flows to weights.

/// (prediction - target)²
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target);
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, const Tensor& weights);
/// |prediction - target|
Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target);
Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target, const Tensor& weights);
/// d² / 2 where |d| is at most delta, else delta (|d| - delta / 2), of the difference d.
Tensor huber(const Tensor& prediction, const Tensor& target, double delta = 1,
             const Tensor& weights = {});
/// huber(delta = beta) / beta.
Tensor smooth_l1(const Tensor& prediction, const Tensor& target, double beta = 1,
                 const Tensor& weights = {});
/// log(cosh(prediction - target)), without overflow.
Tensor log_cosh(const Tensor& prediction, const Tensor& target, const Tensor& weights = {});
/// exp(x) - target x: the negative log likelihood of counts, of the logarithm x of their rate, but
/// for a constant.
Tensor poisson(const Tensor& log_rate, const Tensor& target, const Tensor& weights = {});
/// max(0, 1 - target * prediction), and its square; targets are -1 or 1.
Tensor hinge(const Tensor& prediction, const Tensor& target, const Tensor& weights = {});
Tensor squared_hinge(const Tensor& prediction, const Tensor& target, const Tensor& weights = {});

struct CrossEntropyOptions {
  /// The share of the label that is spread over all classes, in [0, 1).
  double smoothing = 0;
  /// How much each class counts, [classes]. The mean is divided by the weights of the rows' labels;
  /// of dense targets, as in PyTorch, by the number of rows.
  Tensor class_weights = {};
  /// How much each row counts, of the labels' shape; the same.
  Tensor weights = {};
};
/// Of logits [..., classes] with labels [...] (i32 or i64); the mean is over the rows whose label
/// is not ops::kIgnoreLabel, and 0 if there are none. Of floating targets of the logits' shape:
/// cross_entropy_dense(), so that it takes what MixUp and CutMix give.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                     const CrossEntropyOptions& options = {});
/// Of logits [..., classes] with a distribution over the classes for each row. What is ignored has
/// a weight of 0.
Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options = {});
/// Of logits with probabilities between 0 and 1, element by element.
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets);
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weights);
/// cross_entropy with each row times (1 - p)^gamma, p being what its label is given: Lin et al.
/// 2017. Ignored labels do not count.
Tensor focal(const Tensor& logits, const Tensor& labels, double gamma = 2);
/// The same of single classes: logits with targets 0 or 1, positive ones times alpha and others
/// times 1 - alpha; a negative alpha leaves that out.
Tensor binary_focal(const Tensor& logits, const Tensor& targets, double gamma = 2,
                    double alpha = 0.25);
/// Over the last dimension, target (log(target) - log_prediction): how far the distributions
/// `target` are from those with these logarithms. The mean is over rows (PyTorch's "batchmean").
Tensor kl_divergence(const Tensor& log_prediction, const Tensor& target,
                     const Tensor& weights = {});

enum class CtcReduction : std::uint8_t {
  mean,  ///< each loss divided by the number of its labels (at least 1), then the mean
  sum,
  none,  ///< the losses themselves, [n]
};
struct CtcLossOptions {
  /// The class that stands for no label.
  std::int64_t blank = 0;
  CtcReduction reduction = CtcReduction::mean;
  /// A sequence that is too short for its labels counts as 0; otherwise its loss is infinite.
  bool zero_infinity = false;
};
/// Connectionist temporal classification: how improbable the labels of a sequence are, over all
/// ways to align them with its steps. `logits` are [n, steps, classes] (PyTorch's ctc_loss has the
/// steps in front, and takes what log_softmax gives, which may be given here, too), `labels` [n,
/// most]. Lengths [n] say how many steps and labels of each sequence count; without
/// `logit_lengths` all steps do, and without `label_lengths` the labels up to the first negative
/// one. On the CPU only: see ops::ctc_loss.
Tensor ctc_loss(const Tensor& logits, const Tensor& labels, const Tensor& logit_lengths = {},
                const Tensor& label_lengths = {}, const CtcLossOptions& options = {});

// Of vectors: rows of a and b [..., features].

/// a b / (|a| |b|) over the last dimension: [...]. Lengths count as `epsilon` at least.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, double epsilon = 1e-8);
/// 1 - cosine_similarity. Keras's CosineSimilarity is this minus 1.
Tensor cosine_distance(const Tensor& a, const Tensor& b, const Tensor& weights = {});
/// 1 - similarity for rows with `same` [...] 1, else max(0, similarity - margin): `same` is 1 or
/// -1.
Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& same, double margin = 0);
/// d² for rows with `same` [...] 1, else max(0, margin - d)², where it is 0, of the distance d:
/// Hadsell et al. 2006, without their factor of a half.
Tensor contrastive(const Tensor& a, const Tensor& b, const Tensor& same, double margin = 1);
/// max(0, margin + |anchor - positive| - |anchor - negative|).
Tensor triplet(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
               double margin = 1);

}  // namespace plimsoll::nn
