#pragma once

#include "train/fit_plan.h"

namespace plimsoll::train {

/// What a step of a fit takes: as planned, by measured ops and by the clock. Once the ops are
/// measured, a plan that was made with wrong times is replaced.
class FitTimes {
 public:
  /// Ops are measured after `measure_after` steps of this call; 0: never.
  FitTimes(FitPlan& plan, StepRunner& runner, const RunState& state, RunLog& log,
           std::int64_t measure_after)
      : plan_(plan), runner_(runner), state_(state), log_(log), measure_after_(measure_after) {}

  void begin() { predicted_ = plan_.now().phases.front().seconds(); }
  /// Whether ops are to be measured before the next step, with so many behind us.
  bool due(std::int64_t steps) const {
    return measure_after_ != 0 && steps == measure_after_ && corrected_ == 0;
  }
  /// Measures them where they run on the host; else the next full step is to be timed.
  void measure(const Device& device);
  bool times_next() const { return time_next_; }
  /// The next full step has been timed.
  void timed();
  /// A full step took so long by the clock.
  void note(double seconds) {
    if (measured_ == 0 || seconds < measured_) measured_ = seconds;
  }

  // Seconds of a full step; 0: not known.
  double predicted() const { return predicted_; }
  double corrected() const { return corrected_; }
  double measured() const { return measured_; }
  /// Plans that were replaced.
  std::int64_t corrections() const { return corrections_; }

 private:
  void correct(const StepRunner::Measured& found);

  FitPlan& plan_;
  StepRunner& runner_;
  const RunState& state_;
  RunLog& log_;
  const std::int64_t measure_after_;
  bool time_next_ = false;
  double predicted_ = 0;
  double corrected_ = 0;
  double measured_ = 0;
  std::int64_t corrections_ = 0;
};

}  // namespace plimsoll::train
