#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <plimsoll/train/trainer.h>

#include "train_options.h"

namespace plimsoll::tools {

class Command;

/// What `evaluate`, `predict` and `generate` have in common. What is not given is as in the
/// training run.
struct TrainedOptions : TrainOptions {
  std::string folder;
  std::string checkpoint = "latest";  ///< or "best"
};

/// The folder as an argument, --checkpoint, --budget, --device and --precision, and those options
/// of the run that say what the model is, without showing them.
void add_trained_options(Command& command, TrainedOptions& options);

/// --data, --batch, --host-budget and --json.
void add_trained_data_options(Command& command, TrainedOptions& options);

/// Takes the options that were not given from the run. DataError where the folder has no run.
void restore_options(Command& command, TrainedOptions& options);

/// A model with the weights of the checkpoint; the moving average of them, where the run has one.
struct Trained {
  Device device;
  std::unique_ptr<train::Trainer> trainer;
};
/// DataError naming the file that is missing or does not fit the model.
Trained load_trained(const TrainedOptions& options);

/// How a trained model is used, as far as its memory depends on it.
struct TrainedUse {
  train::Trainer::Use use = train::Trainer::Use::predict;
  std::int64_t batch = 1;
  std::optional<Bytes> decode;  ///< of the pipeline beside its batches; nullopt: there is none
};
/// Calls `run`, which loads the model and uses it. Where that does not fit the budget, throws
/// BudgetTooSmall with one that is enough for what `use` tells of such a model, which has no
/// weights.
void within_budget(const TrainedOptions& options, const char* command,
                   const std::function<void()>& run,
                   const std::function<TrainedUse(const nn::Model&)>& use);

}  // namespace plimsoll::tools
