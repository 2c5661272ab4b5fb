#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/device.h>

namespace plimsoll::train {

class Trainer;

/// Metrics by name. "loss" and the metrics asked for are taken over the batches that an epoch
/// trained on, each as it was before its own update; "validation_loss" and so on over the
/// validation data afterwards. Where none were asked for, "accuracy" if the model gives logits for
/// labels.
using Metrics = std::map<std::string, double>;

/// A run as its callbacks see it, in the thread that trains, between two steps.
class Run {
 public:
  virtual ~Run() = default;

  /// Steps and epochs finished, over all resumed parts of the run.
  virtual std::int64_t step() const = 0;
  virtual std::int64_t epoch() const = 0;
  /// Steps in all, and in an epoch; 0 where the data does not tell.
  virtual std::int64_t total_steps() const = 0;
  virtual std::int64_t epoch_steps() const = 0;
  /// Of the last step.
  virtual float loss() const = 0;
  /// The share of its labels that were right; nullopt where the model gives no logits.
  virtual std::optional<float> accuracy() const { return std::nullopt; }
  /// The learning rate of the next step.
  virtual double rate() const = 0;
  virtual std::int64_t batch() const = 0;
  /// Elements trained on since fit() began, and the seconds that took.
  virtual std::int64_t elements() const = 0;
  virtual double seconds() const = 0;
  /// Of the last epoch that ended.
  virtual const Metrics& metrics() const = 0;
  /// The device, with everything on it; its budget is the one that holds.
  virtual const Device& device() const = 0;
  virtual Trainer& trainer() = 0;

  /// Ends the run after the callbacks of this moment; a checkpoint is written if the run writes
  /// any.
  virtual void stop(const std::string& why) = 0;
};

/// Code of the user's that runs with a training. What it throws ends the run.
struct Callback {
  /// Numbers by name.
  using State = std::map<std::string, double>;

  std::function<void(Run& run)> on_begin = nullptr;
  std::function<void(Run& run)> on_step = nullptr;   ///< after each
  std::function<void(Run& run)> on_epoch = nullptr;  ///< after its validation
  std::function<void(Run& run)> on_end = nullptr;    ///< not after an exception
  /// on_step reads the run's numbers and leaves its trainer and the device's limit alone. On a GPU
  /// it is then called while the next step runs already, which a stop() comes too late for: that
  /// step is finished and counts.
  bool numbers_only = false;
  /// What a checkpoint of the run keeps of the callback: `name`, which it is found by (callbacks of
  /// one name are told apart by their order), and some numbers, all finite. `save` gives them after
  /// on_begin, for a look at them, and after on_epoch; `restore` gets them when a run goes on,
  /// before on_begin. Null: nothing.
  std::string name = {};
  std::function<State()> save = nullptr;
  std::function<void(const State& state)> restore = nullptr;
};

}  // namespace plimsoll::train
