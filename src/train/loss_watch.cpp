#include "train/loss_watch.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/log.h>

namespace plimsoll::train {
namespace {

/// Steps in a row without a finite loss that a loss scale may answer for: after as many it is at
/// its smallest.
constexpr std::int64_t kSkippedInARow = 50;

}  // namespace

void LossWatch::look(std::int64_t step, float loss, const std::string& checkpoint) {
  if (std::isfinite(loss)) {
    in_a_row_ = 0;
    return;
  }
  // A loss scale leaves such a step out.
  if (++in_a_row_ < kSkippedInARow && impl_.loss_scale) return;
  const std::string text = std::isnan(loss) ? "nan" : fmt::format("{}", loss);
  log_.write("nonfinite_loss", {{"step", step}, {"loss", text}});
  const std::string what = fmt::format("the loss of step {} is {}", step, text);
  if (allowed_) {
    if (!std::exchange(warned_, true)) {
      log_warning(fmt::format("[fit] {}; training goes on, as it was asked to", what));
    }
    return;
  }
  const bool half = impl_.options.precision.compute == DType::f16;
  throw Diverged(fmt::format(
      "[fit] {}: training has diverged, or the data has values that are not finite; lower the "
      "learning rate (it is {:g}), clip gradients (clip_norm, now {:g}){}, or look at the data{}",
      what, impl_.optimizer.schedule().at(step - 1), impl_.options.clip_norm,
      half ? ", use bf16 instead of f16" : "",
      checkpoint.empty() ? "" : fmt::format("; the last checkpoint is {}", checkpoint)));
}

}  // namespace plimsoll::train
