#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/base/error.h>

#include "train/late_numbers.h"
#include "train/metric_sums.h"
#include "train/pinned_feeds.h"
#include "train/plan_search.h"
#include "train/trainer_impl.h"

namespace plimsoll::train {

/// Counts a step that begins; one that throws before stands() was none.
class StepCount {
 public:
  StepCount(optim::Optimizer& optimizer, StreamId stream)
      : optimizer_(optimizer), before_(optimizer.step()) {
    optimizer.begin_step(stream);
  }
  StepCount(const StepCount&) = delete;
  StepCount& operator=(const StepCount&) = delete;
  ~StepCount() {
    if (!stands_) optimizer_.set_step(before_);
  }

  /// Steps before this one: what is drawn at random is keyed by it.
  std::uint64_t before() const { return static_cast<std::uint64_t>(before_); }
  void stands() { stands_ = true; }

 private:
  optim::Optimizer& optimizer_;
  const std::int64_t before_;
  bool stands_ = false;
};

/// The range of a training is too small for a validation batch that was not planned.
class NoRoomToValidate : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Runs batches through the phases of a training that has its memory. A batch of another size is
/// planned when it comes, in the range that is there.
class StepRunner {
 public:
  StepRunner(Trainer::Impl& trainer, TrainingMemory& memory);

  /// From now on numbers of steps are copied to such sheets behind them, and nobody waits between
  /// the parts of a batch, or for the device to take one. Both outlive the last step.
  void read_late(NumberSheets& sheets, PinnedFeeds& feeds) {
    sheets_ = &sheets;
    feeds_ = &feeds;
  }

  /// Means over a batch.
  struct Numbers {
    float loss = 0;
    /// Of the other outputs of a step, in their order; one of several sums is several numbers.
    std::vector<float> metrics = {};
  };
  /// The numbers of a step that may still run.
  class LateStep {
   public:
    Numbers wait();

   private:
    friend class StepRunner;
    std::optional<Numbers> known_;
    LateNumbers late_;       ///< those of each part in turn
    std::size_t count_ = 1;  ///< of a part
  };
  /// One step of a fit. With `timed`, what its tasks take is measured while it runs, and plans are
  /// made with that from then on; measured() says more. Throws InvalidArgument for a batch that is
  /// not as the model wants it.
  LateStep train(const data::Element& element, std::uint64_t step, bool timed = false);
  /// Makes sure that a batch like this can be run: throws what submit() would.
  void ready(const nn::Tensors& feeds);
  void ready(const data::Element& element);
  /// The feeds of a batch. InvalidArgument where it is not as the model wants it.
  nn::Tensors feeds_of(const data::Element& element) const;
  /// The same in two halves: on a GPU, submit() returns while the step runs, and loss() waits.
  void submit(const nn::Tensors& feeds, std::uint64_t step);
  /// InvalidArgument if there was no step.
  float loss() const;
  bool has_loss() const { return last_ != nullptr; }
  /// submit() for a batch that is not split, with the seconds of each task of `timed()`.
  std::vector<double> submit_timed(const nn::Tensors& feeds, std::uint64_t step);
  /// Until no step is running.
  void wait() const;
  /// Adds the outputs of an evaluation, times the batch's size, to `sums`; with read_late(), those
  /// of the one before. Returns the batch's size.
  std::int64_t evaluate(const data::Element& element, MetricSums& sums);
  /// Adds what is still to come.
  void end_evaluation(MetricSums& sums);

  /// Whether a new plan with this range is at hand, and the plan.
  std::optional<TrainingPlan> replanned(Bytes range, Bytes host);
  void use(const TrainingPlan& plan);

  /// Of a full training batch in the plan that is in force, by the times of ops that were measured
  /// where some were: what plans that are made now are to be compared with.
  double seconds() const;

  /// What measuring the ops of a full training batch says.
  struct Measured {
    double predicted = 0;  ///< seconds of a step of this plan, as it was made
    double corrected = 0;  ///< and by the times that were measured
    /// Made with those times; nullopt if there is none in this range.
    std::optional<TrainingPlan> plan;
  };
  /// Between steps, on the CPU. From then on, plans are made with what was measured.
  Measured measure();
  /// What follows from a step that was timed.
  Measured measured();

 private:
  struct Running {
    const Phase* phase = nullptr;
    OutputSizes outputs;
    std::vector<std::unique_ptr<plan::Executor>> steps;
  };
  Running& running(Phase::Kind kind, std::int64_t batch);
  /// For this plan; made when one is needed, as what it keeps takes some MiB of heap.
  PlanSearch search() const;
  /// Throws NoRoomToValidate for validation, else InvalidArgument.
  [[noreturn]] void refuse(Phase::Kind kind, std::int64_t batch) const;
  void check(const nn::Tensors& feeds) const;
  void submit(const nn::Tensors& feeds, std::uint64_t step, bool timed);
  /// Of the last step, which is waited for.
  Numbers numbers() const;
  void add_times(const plan::Executor& executor, std::span<const double> seconds);

  /// Numbers of a validation step.
  struct Evaluated {
    const OutputSizes* outputs = nullptr;
    std::int64_t count = 0;
    LateNumbers numbers;
  };

  Trainer::Impl& trainer_;
  TrainingMemory& memory_;
  std::map<std::pair<Phase::Kind, std::int64_t>, Running> running_;
  std::vector<std::unique_ptr<Phase>> phases_;
  const plan::Executor* last_ = nullptr;  ///< of the last training step
  std::vector<double> before_;            ///< sums of the outputs of its earlier parts
  std::int64_t parts_ = 1;
  const OutputSizes* outputs_ = nullptr;  ///< of the last training step
  NumberSheets* sheets_ = nullptr;
  PinnedFeeds* feeds_ = nullptr;
  LateNumbers numbers_;  ///< of the last training step, with sheets
  std::optional<Evaluated> evaluated_;
};

/// Where input pipelines run: `host`, else `device` where that is the host, else cpu:0 as
/// DefaultDevice::host() opens it. InvalidArgument that names the function `who` for a `host` that
/// is none.
Device host_of(const char* who, const Device& device, const std::optional<Device>& host);
/// The session in which input pipelines of a training run.
Session input_session(const TrainingPlan& plan, const std::optional<Device>& host);

}  // namespace plimsoll::train
