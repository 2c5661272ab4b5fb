#pragma once

#include <optional>
#include <string>

#include "train/fit_input.h"
#include "train/fit_plan.h"
#include "train/limit_relief.h"

namespace plimsoll::train {

/// What a fit does when the limit of its device moves: a smaller plan, less for the pipelines, or a
/// faster plan where there is more room. All of it between two steps.
class FitLimits {
 public:
  FitLimits(FitPlan& plan, TrainingMemory& memory, StepRunner& runner, FitInput& input,
            const RunState& state, RunLog& log, LimitRequests* requests)
      : plan_(plan),
        memory_(memory),
        runner_(runner),
        input_(input),
        state_(state),
        log_(log),
        requests_(requests) {}

  /// From here on limits are watched. The plan may have been made for more than there is.
  void begin();
  /// As it was when it was last looked at.
  Bytes limit() const { return limit_; }

  /// Whether somebody waits for the next gap between two steps, or the limit was moved.
  bool wanted();
  bool moved() const { return memory_.parent().budget().limit() != limit_; }
  /// Does what others wait for.
  void serve();
  /// A limit that was moved. Why it was moved back, or nothing.
  std::string look();
  /// For callbacks, which may be asked for memory directly.
  LimitRelief& relief() { return *relief_; }

  /// The peak of the device's budget so far, and the limit that held then.
  struct Peak {
    Bytes charged = 0;
    Bytes limit = 0;
  };
  Peak peak();
  std::int64_t replans() const { return replans_; }

 private:
  /// Frees about so many bytes, for a limit that is being lowered.
  Bytes give(Bytes wanted);
  /// What is used of the device's budget by neither this training nor its pipelines.
  Bytes held_by_others();
  /// Sees to it that training and pipelines stay within `limit` from now on; false if they cannot.
  bool keep_within(Bytes limit);
  /// A limit that was raised may allow a faster plan.
  void use_more();
  bool requested() const { return requests_ != nullptr && requests_->waiting(); }
  LimitRequests::Verdict take(Bytes limit);
  /// Notes the limit at the budget's peak; called before another one holds.
  void note_peak(Bytes limit);

  FitPlan& plan_;
  TrainingMemory& memory_;
  StepRunner& runner_;
  FitInput& input_;
  const RunState& state_;
  RunLog& log_;
  LimitRequests* requests_;
  Bytes limit_ = 0;
  Peak peak_;
  std::int64_t replans_ = 0;
  std::optional<LimitRelief> relief_;
};

}  // namespace plimsoll::train
