#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "train/fit_checkpoints.h"
#include "train/fit_input.h"
#include "train/fit_limits.h"
#include "train/fit_log.h"
#include "train/fit_metrics.h"
#include "train/fit_plan.h"
#include "train/fit_times.h"
#include "train/loss_watch.h"

namespace plimsoll::train {

/// One call of Trainer::fit: the loop over batches, and the order in which what belongs to a step
/// or an epoch happens. What happens there is the parts' to know, each in a file of its own.
class FitLoop final : private Run {
 public:
  FitLoop(Trainer& trainer, Trainer::Impl& impl, const TrainingPlan& plan,
          const data::Dataset& train, const std::optional<data::Dataset>& validation,
          const FitOptions& options);
  FitResult run();

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t step() const override { return state_.step; }
  std::int64_t epoch() const override { return state_.epoch; }
  std::int64_t total_steps() const override;
  std::int64_t epoch_steps() const override { return std::max<std::int64_t>(batches_, 0); }
  float loss() const override { return loss_; }
  std::optional<float> accuracy() const override { return accuracy_; }
  double rate() const override { return running_ ? rate_ : impl_.optimizer.rate(); }
  std::int64_t batch() const override { return memory_.plan().batch(); }
  std::int64_t elements() const override { return elements_; }
  double seconds() const override;
  const Metrics& metrics() const override { return metrics_.all(); }
  const Device& device() const override { return memory_.parent(); }
  Trainer& trainer() override { return trainer_; }
  void stop(const std::string& why) override { stopped_ = why; }

  /// Lets the next step begin before the numbers of the one before are read, where that is wanted
  /// and there is memory for it.
  void prepare_overlap();
  void begin();
  void log_begin();
  /// Ops that no fast kernel serves.
  void log_slow();
  void log_result(const FitResult& result);
  /// An exception ends the run.
  void log_failure(const std::string& what, const std::exception* error = nullptr) noexcept;
  void train_all();
  FitResult result();
  bool done() const;
  void train_one(const data::Element& element);
  /// A step that was submitted and whose numbers have not been read.
  struct Submitted {
    StepRunner::LateStep numbers;
    std::int64_t count = 0;              ///< elements
    double own_rate = 0;                 ///< the learning rate that it takes
    double rate = 0;                     ///< of the step after it
    std::optional<double> seconds = {};  ///< by the host's clock
    std::unique_ptr<StreamTimer> timer;  ///< by the device's
    double waited = 0;                   ///< seconds for its batch
    bool first = false;                  ///< of this call
  };
  /// True if nothing may run beyond the step that `running_` is.
  bool must_settle();
  /// Reads the numbers of the step that runs, if one does, and does all that comes after a step.
  void settle();
  /// The same, and the end of the epoch if that was its last.
  void finish_step();
  void note(Submitted& done);
  std::optional<float> accuracy_of(const StepRunner::Numbers& numbers, std::int64_t count) const;
  void after_step();
  /// The next batch; nullopt at the end of the epoch. Where the data cannot be read, the steps so
  /// far are saved first.
  std::optional<data::Element> next_batch();
  /// An exception is on its way: the step that runs is not lost.
  void settle_quietly() noexcept;
  void end_epoch();
  Metrics validate();
  void stop_without_improvement();
  void call(std::function<void(Run&)> Callback::*which);

  Trainer& trainer_;
  Trainer::Impl& impl_;
  const FitOptions options_;
  RunLog no_log_;
  RunLog& log_;
  FitLog fit_log_;
  TrainingMemory& memory_;
  std::optional<NumberSheets> sheets_;  ///< outlive what the runner has under way
  std::optional<PinnedFeeds> feeds_;
  StepRunner runner_;
  const OutputSizes outputs_;  ///< of a training step, whatever its plan and batch
  RunState state_;
  FitInput input_;
  FitPlan plan_;
  FitLimits limits_;
  FitTimes times_;
  FitMetrics metrics_;
  FitCheckpoints checkpoints_;
  LossWatch loss_watch_;
  LeakGate gate_;
  std::int64_t batches_;              ///< of an epoch; below 0 if it is not known
  std::optional<Submitted> running_;  ///< at most one, and only with sheets
  bool overlaps_ = false;             ///< the next step begins before a step's numbers are read
  bool in_callback_ = false;          ///< or the leak gate
  float loss_ = 0;
  std::optional<float> accuracy_;
  double rate_ = 0;    ///< of the step after the last one that was read
  double waited_ = 0;  ///< seconds for the batch that comes next
  std::int64_t elements_ = 0;
  std::int64_t steps_here_ = 0;  ///< of this call
  std::string stopped_;
  bool interrupted_ = false;
  Clock::time_point began_;
};

}  // namespace plimsoll::train
