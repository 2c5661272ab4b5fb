#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <plimsoll/data/pipeline.h>

#include "train/fit_log.h"
#include "train/limit_relief.h"
#include "train/run_checkpoint.h"
#include "train/step_runner.h"

namespace plimsoll::train {

/// One call of Trainer::fit.
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
  const Metrics& metrics() const override { return metrics_; }
  const Device& device() const override { return memory_.parent(); }
  Trainer& trainer() override { return trainer_; }
  void stop(const std::string& why) override { stopped_ = why; }

  void begin();
  void train_all();
  void resume();
  void stop_if_without_improvement();
  bool done() const;
  void train_one(const data::Element& element);
  /// A step that was submitted and whose numbers have not been read.
  struct Submitted {
    StepRunner::LateStep numbers;
    std::int64_t count = 0;              ///< elements
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
  void after_step();
  /// Throws Diverged, or warns, where the loss is not finite.
  void look_at_loss();
  /// The next batch; nullopt at the end of the epoch. Where the data cannot be read, the steps so
  /// far are saved first.
  std::optional<data::Element> next_batch();
  /// An exception is on its way: the step that runs is not lost.
  void settle_quietly() noexcept;
  void end_epoch();
  void note_skipped();
  Metrics validate();
  /// What metrics() will have at the end of an epoch.
  std::vector<std::string> metric_names() const;
  /// Throws InvalidArgument for a metric that there will not be.
  void check_metrics() const;
  /// Of the epoch that is under way, or at its end, without validation.
  void add_training_metrics();
  bool improves(const std::string& metric, std::optional<double>& best, double min_delta) const;
  void checkpoint(bool best);
  /// One that is due while training goes on: warns where it cannot be written, and tries again
  /// later. False if it was not written.
  bool try_checkpoint(bool best);
  /// The last one of the run, wherever it can be written. Throws what went wrong with the folder
  /// that was named if it cannot be written anywhere.
  void last_checkpoint();
  /// An error ends the run between two steps: saves them, if a folder is named, and throws nothing.
  void save_before_error() noexcept;
  void call(std::function<void(Run&)> Callback::*which);
  /// Frees about so many bytes, for a limit that is being lowered.
  Bytes give(Bytes wanted);
  /// Sees to it that training and pipelines stay within `limit` from now on; false if they cannot.
  bool keep_within(Bytes limit);
  /// Between steps: a limit that was moved. Why it was moved back, or nothing.
  std::string look_at_limit();
  /// Between steps: limits that others ask for.
  bool limit_wanted() const;
  void serve_limit_requests();
  LimitRequests::Verdict take_limit(Bytes limit);
  /// Notes the limit at the budget's peak; called before another one holds.
  void note_peak(Bytes limit);
  /// A limit that was raised may allow a faster plan.
  void use_more();
  /// Lets the pipelines have at most so much, as far as they can give back what they hold.
  void limit_input(Bytes bytes);
  /// Lets them use everything that is free, until somebody else needs it.
  void lend();
  /// Throws BudgetTooSmall where a file takes more memory to decode than pipelines can have.
  void check_decoding(const data::Dataset& dataset) const;
  void adopt(const TrainingPlan& plan, const char* why);
  /// Between steps, once: are the predicted times those of this machine?
  void measure();
  void correct(const StepRunner::Measured& found);
  std::map<std::string, std::string> identity() const;
  RunLog& log() { return fit_log_.log(); }
  void log_begin();
  void log_result(const FitResult& result);
  /// An exception ends the run.
  void log_failure(const std::string& what) noexcept;

  Trainer& trainer_;
  Trainer::Impl& impl_;
  FitOptions options_;
  TrainingMemory& memory_;
  std::optional<NumberSheets> sheets_;  ///< outlive what the runner has under way
  std::optional<PinnedFeeds> feeds_;
  StepRunner runner_;
  Session input_;
  data::Pipeline train_;
  std::optional<data::Pipeline> validation_;
  bool validated_ = false;            ///< the validation pipeline has been at its end
  std::int64_t batches_;              ///< of an epoch; below 0 if it is not known
  std::optional<Submitted> running_;  ///< at most one, and only with sheets
  std::int64_t skipped_ = 0;          ///< elements that were left out and logged
  bool overlaps_ = false;             ///< the next step begins before a step's numbers are read
  double rate_ = 0;                   ///< of the step after the last one that was read
  double waited_ = 0;                 ///< seconds for the batch that comes next
  bool in_callback_ = false;          ///< or the leak gate
  bool time_next_ = false;            ///< the next full step is to be timed
  LeakGate gate_;
  std::optional<RunCheckpoints> checkpoints_;
  RunLog no_log_;
  FitLog fit_log_;
  RunState state_;
  Metrics metrics_;
  float loss_ = 0;
  std::optional<float> accuracy_;
  bool has_accuracy_ = false;   ///< the steps of this plan give one
  std::int64_t nonfinite_ = 0;  ///< losses in a row that are not finite
  bool warned_ = false;         ///< of one
  std::int64_t retry_at_ = -1;  ///< step at which a checkpoint is tried again; below 0: none is
  std::int64_t elements_ = 0;
  std::int64_t replans_ = 0;
  std::int64_t corrections_ = 0;
  std::int64_t steps_here_ = 0;  ///< of this call
  double predicted_ = 0;         ///< seconds of a full step: as planned at first,
  double corrected_ = 0;         ///< by measured ops,
  double measured_ = 0;          ///< by the clock
  Bytes planned_peak_ = 0;       ///< the largest of plans before this one
  std::string stopped_;
  bool interrupted_ = false;
  std::string written_;
  Clock::time_point began_;
  Bytes limit_ = 0;  ///< of the device's budget when it was last looked at
  Bytes peak_ = 0;   ///< of the device's budget, when it was last looked at
  Bytes peak_limit_ = 0;
  std::optional<LimitRelief> relief_;
};

}  // namespace plimsoll::train
