#include "data/engine/thread_tuner.h"

#include <algorithm>

namespace plimsoll::data {
namespace {

constexpr double kInterval = 0.05;  ///< seconds between two looks, at least
/// Shares of the time that the consumer waits: above the first it is worth more threads, below the
/// second fewer may do.
constexpr double kWaits = 0.02;
constexpr double kHardlyWaits = 0.01;
/// The same of the times that the stage was asked and had nothing.
constexpr double kEmpty = 0.1;
constexpr double kHardlyEmpty = 0.02;
/// The share of the time that calls may be at work when there is one less: what is left evens out
/// elements that take longer, and threads that others keep from a core.
constexpr double kAtWork = 0.8;
constexpr int kCalm = 4;
constexpr int kRemember = 200;

}  // namespace

void ThreadTuner::look(double now_s, double waited_s) {
  if (most_ == 1) return;
  if (!begun_) {
    begun_ = true;
    last_s_ = now_s;
    last_waited_s_ = waited_s;
    busy_s_ = 0;
    return;
  }
  const double passed = now_s - last_s_;
  if (passed < kInterval || asked_ == 0) return;
  const double waits = std::clamp((waited_s - last_waited_s_) / passed, 0.0, 1.0);
  const double empty = static_cast<double>(empty_) / asked_;
  if (remembered_ > 0 && --remembered_ == 0) least_ = 1;
  if (waits > kWaits && empty > kEmpty) {
    if (!no_memory_) grow();
    calm_ = 0;
  } else if (waits < kHardlyWaits || empty < kHardlyEmpty) {
    if (++calm_ >= kCalm) shrink(busy_s_ / passed);
  } else {
    calm_ = 0;
  }
  asked_ = empty_ = 0;
  busy_s_ = 0;
  no_memory_ = false;
  last_s_ = now_s;
  last_waited_s_ = waited_s;
}

void ThreadTuner::grow() {
  if (now_ == most_) return;
  least_ = std::max(least_, now_ + 1);
  remembered_ = kRemember;
  now_ = std::min(most_, now_ * 2);
}

void ThreadTuner::shrink(double at_work) {
  if (at_work > kAtWork * (now_ - 1)) return;
  now_ = std::max(now_ - 1, least_);
  calm_ = kCalm / 2;
}

}  // namespace plimsoll::data
