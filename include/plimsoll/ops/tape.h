#pragma once

#include <memory>
#include <span>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

struct TapeOptions {
  /// gradient() may be called more than once; what is kept goes with the tape.
  bool persistent = false;
};

/// Records the ops of this thread, from its construction to its destruction or stop(), so that
/// gradients can be taken. It stands on the dispatcher in force: over eager execution it computes
/// gradients at once; within a trace the backward pass becomes part of the trace.
///
/// Only ops that lead from watched tensors are recorded, and of those only what their gradients
/// read is kept. Tapes nest; each records on its own, gradients of inner ones included.
///
///   ops::GradientTape tape;
///   tape.watch(w);
///   Tensor loss = mean(square(sub(matmul(x, w), y)));
///   Tensor dw = tape.gradient(loss, w);
class GradientTape {
 public:
  explicit GradientTape(const TapeOptions& options = {});
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;
  ~GradientTape();

  /// Follow `tensor` from now on. InvalidArgument if it is not floating.
  void watch(const Tensor& tensor);
  void watch(std::span<const Tensor> tensors);

  /// Ends recording. Idempotent.
  void stop();

  /// The derivative of `target`, summed over its elements unless `seed` (of its type) weighs them,
  /// by each source; undefined where the target does not depend on it. Ends recording on a tape
  /// that is not persistent, and lets go of what it kept while it walks back. Throws
  /// InvalidArgument naming the op if one on the way has no gradient, or if the tape was used up.
  std::vector<Tensor> gradient(const Tensor& target, std::span<const Tensor> sources,
                               const Tensor& seed = {});
  Tensor gradient(const Tensor& target, const Tensor& source);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::ops
