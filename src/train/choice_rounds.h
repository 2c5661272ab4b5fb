#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/device/choice_table.h>

#include "train/step_runner.h"

namespace plimsoll::train {

/// Times the tasks of a training step with other choices of the device's libraries. While one is
/// there the device's table explores, and nothing else may be prepared on the device.
class ChoiceRounds {
 public:
  /// `batch` is a full one of the plan that `memory` has.
  ChoiceRounds(Trainer::Impl& trainer, TrainingMemory& memory, nn::Tensors batch);
  ChoiceRounds(const ChoiceRounds&) = delete;
  ChoiceRounds& operator=(const ChoiceRounds&) = delete;
  /// Has the device take the last end()'s choices, or the rule's where there was none.
  ~ChoiceRounds();

  /// Seconds of all tasks of a key in one step, for each step that was timed.
  using Samples = std::map<std::string, std::vector<double>>;
  struct Round {
    Choices taken;  ///< of all keys that the step asks for
    Samples samples;
    /// Whether a task of that key was timed.
    bool has(const std::string& key) const {
      return taken.count(key) != 0 && samples.count(key) != 0;
    }
  };
  /// Prepares the step with these choices, where they can be had, and times some steps.
  Round run(const Choices& preferred);
  /// The same for whole steps as training runs them: the least of some, by the clock.
  double whole_step(const Choices& preferred);
  /// What the device is to take when this goes.
  void end(const Choices& chosen) { last_ = chosen; }

  /// What could be taken instead, for the keys that the step asks for; after a round.
  std::map<std::string, ChoiceTable::Offer> offers() const;
  /// For each key those that some task asks for as well, and its tasks, the first in words; after a
  /// round.
  struct Use {
    std::set<std::string> beside;
    std::int64_t tasks = 0;
    std::string first;
  };
  const std::map<std::string, Use>& uses() const { return uses_; }

 private:
  void prepare(const Choices& preferred);
  void note_uses();
  /// Of that micro-batch.
  plan::Executor& executor(std::int64_t part);
  /// One step; with `sums`, timed, by key.
  void step(std::map<std::string, double>* sums);

  Trainer::Impl& trainer_;
  TrainingMemory& memory_;
  const TrainingMemory::Use use_;
  ChoiceTable& table_;
  const nn::Tensors batch_;
  std::vector<std::unique_ptr<plan::Executor>> steps_;
  std::map<std::string, Use> uses_;
  Choices last_;
};

}  // namespace plimsoll::train
