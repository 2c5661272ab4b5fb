#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/ctc.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/softmax.h>

#include "nn/loss_inputs.h"

namespace plimsoll::nn {
namespace {

/// Of each row of labels, those before the first negative one.
Tensor labels_given(const Tensor& labels) {
  const Tensor zero = ops::full_like_type(labels, {labels.dtype(), {}}, 0);
  const Tensor given = ops::cast(ops::greater_equal(labels, zero), DType::i64);
  return ops::sum(ops::cumprod(given, 1), {.axes = {1}});
}

}  // namespace

Tensor ctc_loss(const Tensor& logits, const Tensor& labels, const Tensor& logit_lengths,
                const Tensor& label_lengths, const CtcLossOptions& options) {
  if (logits.rank() != 3 || labels.rank() != 2) {
    throw InvalidArgument(fmt::format(
        "[ctc_loss] logits must be [n, steps, classes] and labels [n, most]; they are {} and {}",
        logits.type().to_string(), labels.type().to_string()));
  }
  const Tensor log_probs = ops::log_softmax(widened(logits), 2);
  const Tensor steps = logit_lengths.defined()
                           ? ops::cast(logit_lengths, DType::i64)
                           : ops::full_like_type(labels, {DType::i64, {logits.dim(0)}},
                                                 static_cast<double>(logits.dim(1)));
  const Tensor count =
      label_lengths.defined() ? ops::cast(label_lengths, DType::i64) : labels_given(labels);
  Tensor losses = ops::ctc_loss(log_probs, ops::cast(labels, DType::i64), steps, count,
                                {.blank = options.blank, .zero_infinity = options.zero_infinity});
  if (options.reduction == CtcReduction::none) return losses;
  if (options.reduction == CtcReduction::sum) return ops::sum(losses);
  const Tensor one = ops::full_like_type(losses, {losses.dtype(), {}}, 1);
  return ops::mean(ops::div(losses, ops::maximum(ops::cast(count, losses.dtype()), one)));
}

}  // namespace plimsoll::nn
