#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <plimsoll/device/choices.h>

namespace plimsoll::train {

struct TuneProgress {
  double seconds = 0;       ///< since it began
  std::int64_t rounds = 0;  ///< so far
  std::int64_t keys = 0;    ///< that there are alternatives for
  std::int64_t better = 0;  ///< of those, for how many one was faster than the rule's choice so far
};

struct TuneOptions {
  /// A round is begun if it and what has to follow will probably end in this time. The rule's
  /// choices are measured in any case.
  double seconds = 300;
  /// How many are measured for each key, in the library's order.
  std::int64_t alternatives = 8;
  /// Called after each round.
  std::function<void(const TuneProgress&)> progress = nullptr;
};

/// What was measured for one key of the device's ChoiceTable.
struct TunedChoice {
  std::string key;
  /// The first task of the step that it is for: "matmul f32[128,784] f32[784,10]".
  std::string task;
  std::int64_t tasks = 0;     ///< of a step
  std::int64_t measured = 0;  ///< alternatives; others could not be had, or there was no time
  std::string rule;           ///< what is chosen without a file
  std::string chosen;         ///< the rule's, unless another was faster by more than 3%, and again
  /// Of all its tasks in a step together; medians. Of the rule's choice where that stays.
  double rule_seconds = 0;
  double chosen_seconds = 0;
  bool changed() const { return chosen != rule; }
};

struct TuneResult {
  std::vector<TunedChoice> tuned;  ///< for which there are alternatives, by key
  Choices choices;                 ///< of all keys that the step asked for
  /// Of a whole step as training runs it, by the clock.
  double rule_step_seconds = 0;
  double chosen_step_seconds = 0;
  double seconds = 0;     ///< that measuring took
  bool finished = false;  ///< there was time for every alternative
};

}  // namespace plimsoll::train
