#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/base/owned.h>
#include <plimsoll/base/run_log.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/train/callbacks.h>
#include <plimsoll/train/leak_gate.h>
#include <plimsoll/train/limit_requests.h>
#include <plimsoll/train/loss.h>
#include <plimsoll/train/metric.h>
#include <plimsoll/train/precision.h>
#include <plimsoll/train/training_plan.h>
#include <plimsoll/train/tune.h>

namespace plimsoll::train {

struct TrainerOptions {
  /// What is minimised; nothing said: the model's own loss.
  Loss loss = {};
  /// Nothing said: adamw with its defaults.
  std::optional<optim::Optimizer> optimizer = std::nullopt;
  /// What is said of predictions besides the loss, in validation and evaluate(). Nothing said:
  /// "accuracy", where the model gives logits for labels.
  std::vector<Metric> metrics = {};
  /// Where it trains; nothing said: on the DefaultDevice.
  std::optional<Device> device = std::nullopt;
  /// Components of the elements that are fed to the model, and those that its outputs are compared
  /// with, by name ("image") or place ("0"). Nothing said: the last one is the target, and all
  /// others are inputs.
  std::vector<std::string> inputs = {};
  std::vector<std::string> targets = {};
  Precision precision = DType::f32;
  /// Of initial values and of everything drawn at random in a step; nothing said: set_seed()'s, as
  /// it is now.
  std::uint64_t seed = ops::default_seed();
  /// Bounds for the norm of all gradients together, and for each element; 0: none.
  double clip_norm = 0;
  double clip_value = 0;
  /// Work on a batch in so many equal parts whose gradients are summed, or in the next larger
  /// number that divides it.
  std::int64_t accumulate = 1;
  /// Keep a moving average of the weights with this decay, say 0.999; validation and prediction
  /// then use it. 0: none.
  double moving_average = 0;
  /// Scopes of modules ("layer1/0") whose values must be kept, or computed again.
  std::vector<std::string> keep = {};
  std::vector<std::string> recompute = {};
  /// Let a plan split the batch where nothing else makes it fit. The result is then equal up to
  /// rounding.
  bool allow_split = true;
  /// Also where the model normalises by statistics of the batch, which are then those of parts of
  /// it.
  bool allow_split_batch_statistics = false;
  /// A file of choices that `plimsoll tune` wrote. Whatever is prepared on the device from the
  /// first memory that this trainer takes there takes them; empty: the rule's. It is read at once:
  /// DataError where it is not such a file. One of another device or other versions is not used,
  /// with a warning. What a checkpoint has wins over it on resume.
  std::string choices = {};
};

struct PlanRequest {
  std::int64_t batch = 0;  ///< 0: that of the dataset, where there is one
  /// Sizes of training batches that are not full.
  std::vector<std::int64_t> remainders = {};
  /// 0: no validation.
  std::int64_t validation_batch = 0;
  std::vector<std::int64_t> validation_remainders = {};
  /// Kept free for input pipelines, which may use more as long as it is free; 0: what they need at
  /// least, and more where there is plenty.
  Bytes input = 0;
  /// For pipelines that decode files: what a file and its decoding may take, on top of the
  /// batches.
  Bytes decode = 0;
  /// The file that takes so much, for messages; see data::decode_needs.
  std::string decode_file = {};
  /// For the whole device; 0: its limit.
  Bytes budget = 0;
  /// Pinned host memory for what a step has no room for on the device: values until they are needed
  /// again, the optimizer's state between updates. Copies run beside the computation; results stay
  /// the same to the bit. 0: none.
  Bytes offload = 0;
  /// Where that memory is taken from; a plan that is to run needs it.
  std::optional<Device> host = std::nullopt;
};

struct EarlyStopping {
  std::string metric = "validation_loss";
  /// Epochs without improvement after which training ends; 0: never.
  std::int64_t patience = 0;
  double min_delta = 0;  ///< smaller changes do not count as improvement
};

/// The loss of a step was NaN or infinite. Exit code 2: a learning rate, a precision or the data is
/// to be mended.
class Diverged : public Error {
 public:
  using Error::Error;
  int exit_code() const noexcept override { return 2; }
};

struct FitOptions {
  /// Ends after so many epochs or steps in all, whichever is first; 0: no bound. One must be given.
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::vector<Callback> callbacks = {};
  /// A folder for checkpoints, see docs/train.md. Empty: none are written. Where one cannot be
  /// written (the disk is full, say) training warns, goes on and tries again every 50 steps. The
  /// last one, at the end or when the run is stopped, goes to another folder if it must, named
  /// "plimsoll-run-PID": in the working directory, else in $TMPDIR (or /tmp). FitResult::checkpoint
  /// says where it is; if no folder can take it, fit() throws what went wrong with the first.
  std::string checkpoints = {};
  std::int64_t checkpoint_steps = 0;   ///< write a checkpoint every N steps; 0: not by steps
  std::int64_t checkpoint_epochs = 1;  ///< and every N epochs; 0: not by epochs
  int checkpoints_kept = 2;            ///< the latest N are kept, and the best
  /// The metric by which a checkpoint is "best"; empty: none is. Higher is better if its name ends
  /// with "accuracy", else lower. InvalidArgument before the first step for a metric that there
  /// will not be.
  std::string best = {};
  /// Go on from the latest checkpoint of the folder, if there is one.
  bool resume = false;
  EarlyStopping early_stopping = {};
  /// After so many steps of this call, measure what ops take, and make a new plan in the same
  /// memory if that saves 3% of a step or more; 0: never. Results stay the same to the bit.
  std::int64_t measure_after = 3;
  LeakGateOptions leak_gate = {};
  /// Seed, threads and skipping for the pipelines; name and limit are the trainer's.
  data::PipelineOptions pipeline = {};
  /// Where input pipelines run if the device is not the host; cpu:0 if this is left out.
  std::optional<Device> host = std::nullopt;
  RunLog* log = nullptr;
  /// Limits that others ask for, answered between steps; see ControlServer.
  LimitRequests* limit_requests = nullptr;
  /// Read the numbers of a step while the next one runs, where the callbacks allow it (see
  /// Callback::numbers_only). They are the same for the same steps either way. Nothing said: on a
  /// GPU, not on the CPU.
  std::optional<bool> overlap = std::nullopt;
  /// Set by another thread or a signal handler: the step is finished, a checkpoint written.
  const std::atomic<bool>* stop = nullptr;
  /// The folder for that checkpoint if `checkpoints` is empty; empty: none is written then. Also
  /// used where data that cannot be read ends the run, so that its work is not lost.
  std::string stop_checkpoints = {};
  /// Go on, with one warning, where the loss is NaN or infinite, rather than throw Diverged. With a
  /// loss scale (f16) steps that overflow are left out, which is not an error until 50 in a row do.
  bool allow_nonfinite_loss = false;
};

struct FitResult {
  std::vector<float> losses;     ///< of every step, resumed parts included
  std::vector<Metrics> history;  ///< of every epoch
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  double seconds = 0;
  Bytes planned_peak = 0;        ///< bytes of the training's arena, of the largest plan it ran
  Bytes measured_peak = 0;       ///< the same, as the arena saw it
  Bytes charged_peak = 0;        ///< most that the device's budget was charged with
  Bytes peak_limit = 0;          ///< the limit that held then; a limit may move during a run
  std::int64_t replans = 0;      ///< for limits that moved
  std::int64_t corrections = 0;  ///< for op times that were measured
  /// Of a full training batch: as planned at first; by the times of ops that were measured, in the
  /// plan that ran last (0: they were not); and by the clock, the least of all steps (0: none was).
  double predicted_step_seconds = 0;
  double corrected_step_seconds = 0;
  double measured_step_seconds = 0;
  std::string stopped;     ///< why it ended before its time; empty if it did not
  std::string checkpoint;  ///< the last one written
};

/// Trains any module within a budget.
///
///   pm::Trainer trainer(Net(), {.loss = "cross_entropy",
///                               .optimizer = pm::optim::adamw({.lr = 1e-3}),
///                               .metrics = {"accuracy"}});
///   std::cout << trainer.plan(train, validation).explain();   // no memory taken yet
///   trainer.fit(train, validation, {.epochs = 3});
///
/// plan() states the peak to the byte or throws; fit() takes all of it before its first step, in a
/// session of its own, and a step then allocates nothing. Losses and weights do not depend on the
/// budget unless the plan splits the batch, which it says.
///
/// One thread at a time. While fit() runs, the limit of the device's budget may be moved by any
/// thread: lowering it makes a new plan before the next step.
class Trainer {
 public:
  /// The optimizer must not have variables yet. The weights are the module's and stay with it when
  /// the trainer is gone.
  explicit Trainer(const nn::Model& model, const TrainerOptions& options = {});
  Trainer(const nn::Model& model, const optim::Optimizer& optimizer,
          const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  nn::Model& model();
  optim::Optimizer& optimizer();
  const TrainerOptions& options() const;

  /// What training on these datasets takes: types of batches, their sizes, remainders and what
  /// decoding needs follow from them, as far as `request` does not say otherwise. Where a dataset
  /// does not tell what its elements are, its first batch is made to see. Throws as below.
  TrainingPlan plan(const data::Dataset& train,
                    const std::optional<data::Dataset>& validation = std::nullopt,
                    const PlanRequest& request = {}) const;
  /// What training takes on `device`. Throws BudgetTooSmall, with "smallest budget for this batch:
  /// SIZE" and "largest batch for this budget: N" in its message. Both work. SIZE is the least that
  /// the planner finds for any way to split the batch that is allowed, rounded up to a multiple of
  /// 4 KiB, 64 KiB or 1 MiB; N + 1 does not fit, though a still larger batch that splits better
  /// may. N is 0 if no batch fits. What the trainer holds there from an earlier plan counts as its
  /// own.
  TrainingPlan plan(const PlanRequest& request, const Device& device) const;
  /// For batches as `spec` has them, with validation of the same. InvalidArgument where check()
  /// refuses it, or it does not say how large a batch is.
  TrainingPlan plan(const data::ElementSpec& spec, const Device& device) const;
  /// The same for a device that is not there; request.budget 0 is all of its memory.
  TrainingPlan plan(const PlanRequest& request, const plan::DeviceDescription& device) const;
  /// Throws InvalidArgument, naming both, unless batches as `spec` has them are what the model is
  /// fed; what a spec leaves open is not refused. fit() checks its data so before it takes memory.
  void check(const data::ElementSpec& spec) const;
  /// Time against budget, from the largest budget that is of use to the smallest; the batch is
  /// split as TrainerOptions::accumulate says and no further. Time never rises with the budget, and
  /// plan() with the same request fits each of them. With request.offload, values may be in the
  /// host's memory, and state is not.
  std::vector<plan::CurvePoint> curve(const PlanRequest& request,
                                      const plan::DeviceDescription& device, int points = 12) const;
  /// The same on a device as it is, beside what others hold there.
  std::vector<plan::CurvePoint> curve(const PlanRequest& request, const Device& device,
                                      int points = 12) const;

  /// Elements are (input, target), in batches. Throws DataError, InvalidArgument for batches that
  /// are not as planned, Diverged for a loss that is not finite, BudgetTooSmall, before the first
  /// step, for a file that takes more memory to decode than there is, StorageError if no checkpoint
  /// could be written, Error for a leak, and whatever a callback throws. A batch of the wrong
  /// type changes nothing. Values that cannot be, such as a label that is no class, are found by
  /// the CPU while the step runs: running statistics and the device's count of steps may have moved
  /// then, weights have not; go on from a checkpoint.
  FitResult fit(const TrainingPlan& plan, const data::Dataset& train,
                const std::optional<data::Dataset>& validation, const FitOptions& options);
  FitResult fit(const TrainingPlan& plan, const data::Dataset& train, const FitOptions& options) {
    return fit(plan, train, std::nullopt, options);
  }
  /// The same with the plan of plan(train, validation).
  FitResult fit(const data::Dataset& train, const std::optional<data::Dataset>& validation,
                const FitOptions& options);
  FitResult fit(const data::Dataset& train, const FitOptions& options) {
    return fit(train, std::nullopt, options);
  }

  /// One step on a batch in the caller's hands, on any device, for loops of one's own. Takes the
  /// plan's memory at the first. On a GPU it returns while the step runs: until loss() or wait()
  /// the batch must not change, and weights and the optimizer's state are neither read nor written.
  void step(const TrainingPlan& plan, const Tensor& input, const Tensor& target);
  /// The same for models with several inputs or targets: the inputs, then the targets.
  void step(const TrainingPlan& plan, const nn::Tensors& batch);
  /// The same, waiting after every task: the seconds that each took, in the order of the tasks of
  /// plan.phases[0].steps[0]. For batches that are not split.
  std::vector<double> step_timed(const TrainingPlan& plan, const Tensor& input,
                                 const Tensor& target);
  /// Measures what else the device's libraries could choose for a step of `plan`: in rounds of
  /// timed steps on `batch`, which is a full one as fit() takes it. From then on the device takes
  /// what was chosen. For a process that does nothing else on the device: what others prepared
  /// there before must not run any more. Weights move as by any step. InvalidArgument where kernels
  /// leave no choice, as on the CPU.
  TuneResult tune(const TrainingPlan& plan, const data::Element& batch,
                  const TuneOptions& options = {});
  /// The mean loss of the last step(), which it waits for; those of fit() are in its result.
  /// InvalidArgument if there was none.
  float loss() const;
  /// Returns when no step() is running any more. Before a checkpoint is saved, say.
  void wait() const;

  /// "loss" and the metrics over all elements. After fit() it uses the memory that is there; where
  /// that is too small, or there is none, it takes what an evaluation needs, and gives it back. A
  /// callback may also call it; its pipeline then needs room beside that of the training. `host` is
  /// where the pipeline runs if the device is not the host.
  Metrics evaluate(const data::Dataset& dataset, const data::PipelineOptions& pipeline = {},
                   const std::optional<Device>& host = std::nullopt);
  /// What the model computes for a batch of inputs, or for all elements of a dataset one after the
  /// other; components beyond the inputs are left out. The result is the caller's, tagged `user`.
  Tensor predict(const Tensor& input);
  nn::Tensors predict(const nn::Tensors& inputs);
  Tensor predict(const data::Dataset& dataset, const data::PipelineOptions& pipeline = {},
                 const std::optional<Device>& host = std::nullopt);
  /// The same for models of several outputs.
  nn::Tensors predict_all(const data::Dataset& dataset, const data::PipelineOptions& pipeline = {},
                          const std::optional<Device>& host = std::nullopt);
  /// The same in the memory of `plan`, which is taken if it is not there.
  Metrics evaluate(const TrainingPlan& plan, const data::Dataset& dataset,
                   const data::PipelineOptions& pipeline = {},
                   const std::optional<Device>& host = std::nullopt);
  Tensor predict(const TrainingPlan& plan, const Tensor& input);

  enum class Use : std::uint8_t { evaluate, predict };
  /// A limit of the device that is enough for evaluate() or predict() with batches of `n`: for the
  /// weights, the step, its results and the input, where nothing else is on the device. `decode` is
  /// what the pipeline takes there beside its batches; nullopt: no pipeline runs there. Takes no
  /// memory.
  Bytes enough_for(Use use, std::int64_t n, std::optional<Bytes> decode) const;

  /// Takes the plan's memory and initialises what has no values, as fit() does first.
  void materialize(const TrainingPlan& plan);
  /// Gives all memory back but that of the weights, which stay with the model, as they do when the
  /// trainer goes. The optimizer's state, a loss scale and a moving average start anew.
  void release();
  /// The same, and the weights go too: the next fit() begins with initial values.
  void reset();

  class Impl;

 private:
  Owned<Impl> impl_;
};

}  // namespace plimsoll::train
