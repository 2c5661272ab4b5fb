#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/train/trainer.h>

#include "training_data.h"

namespace plimsoll::tools {

class Command;

/// What `train` and `plan` have in common.
struct TrainOptions {
  std::string model = "lenet";
  std::string data;     ///< empty: digits where the model reads them, else synthetic
  std::string augment;  ///< names between commas
  std::int64_t batch = 32;
  std::int64_t validation_batch = 0;  ///< 0: as `batch`
  std::string budget;
  std::string host_budget;
  std::string offload;
  std::string precision = "f32";
  std::string optimizer = "adam";
  double lr = 0;  ///< 0: the optimizer's own
  double momentum = 0.9;
  double weight_decay = -1;
  std::string schedule = "constant";
  std::int64_t warm_up = 0;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  std::string device = "cpu:0";
  std::int64_t size = 0;
  std::int64_t classes = 0;
  std::int64_t elements = 0;  ///< of synthetic data; 0: eight batches
  std::int64_t accumulate = 1;
  double clip_norm = 0;
  double clip_value = 0;
  double average = 0;
  std::vector<std::string> keep;
  std::vector<std::string> recompute;
  bool no_split = false;
  bool split_statistics = false;
  bool no_validation = false;
  std::string choices;  ///< a file of `plimsoll tune`; only `train` has the option
  bool json = false;
};

void add_options(Command& command, TrainOptions& options);

/// A trainer for the options, and the data it is for. Throws InvalidArgument naming an option.
struct Prepared {
  std::unique_ptr<train::Trainer> trainer;
  TrainingData data;
  train::PlanRequest request;
};
/// Fills in what was left open: data, epochs, budget.
void complete(TrainOptions& options);
/// Images whose headers cannot be read are found here, if there are more than `skip_errors`.
Prepared prepare(const TrainOptions& options, std::int64_t skip_errors = 0);

/// 0 if none was given. A share is one of the named device.
Bytes budget_of(const TrainOptions& options);

/// InvalidArgument for a device that can be planned for and is none of any machine: "h200".
void require_device(const std::string& name);

/// Where pipelines run and what is offloaded goes, with --host-budget, if that is not the device.
std::optional<Device> host_of(const TrainOptions& options);

/// The device with its limit, and what the data holds on it. BudgetTooSmall where that does not
/// fit, with the budget and the batch that would.
struct Opened {
  Device device;
  Charge held;
};
Opened open_device(const TrainOptions& options, Prepared& prepared);

}  // namespace plimsoll::tools
