#pragma once

#include <cstdint>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

struct CtcOptions {
  /// The class that stands for no label.
  std::int64_t blank = 0;
  /// A sequence that is too short for its labels has a loss and a gradient of 0. Otherwise its loss
  /// is infinite and its gradient NaN.
  bool zero_infinity = false;
};
/// Connectionist temporal classification (Graves et al. 2006): for each sequence the negative
/// logarithm of the probability of its labels, summed over all ways to align them with its steps,
/// [n]. `log_probs` [n, steps, classes] are logarithms of probabilities (log_softmax), f32 or f64;
/// sums are in f64. Of row i of `labels` [n, most] the first label_lengths[i] count, and of its
/// steps the first input_lengths[i]; all three are i32 or i64, of one dtype.
///
/// The gradient takes each log_probs[i, t, c] as a variable of its own; it is 0 for steps that do
/// not count. It needs 16 * most + 8 bytes of workspace for each step of each sequence.
///
/// On the CPU only: on another device it is a DeviceError. InvalidArgument, when it runs, naming
/// the first length that is too large, or the first label that is not a class or is the blank.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options = {});

}  // namespace plimsoll::ops
