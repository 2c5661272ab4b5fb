#include "trained_model.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/safetensors.h>

#include "command_line.h"
#include "mistakes.h"
#include "run_file.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

/// The folder of the checkpoint that is asked for.
fs::path checkpoint_folder(const TrainedOptions& o) {
  std::ifstream in(fs::path(o.folder) / o.checkpoint);
  std::string name;
  if (std::getline(in, name) && !name.empty()) {
    std::error_code none;
    if (fs::is_directory(fs::path(o.folder) / name, none)) return fs::path(o.folder) / name;
    constexpr std::size_t kShown = 60;
    throw DataError(
        fmt::format("{}/{}: there is no checkpoint '{}' in this folder; write the name of one that "
                    "is there into the file",
                    printable(o.folder), o.checkpoint, printable(name.substr(0, kShown))));
  }
  const bool best = o.checkpoint == "best";
  throw DataError(
      fmt::format("{}: it has no {} checkpoint; {}", printable(o.folder), o.checkpoint,
                  best ? "train with --best validation_loss, or leave --checkpoint out"
                       : "train until the first one is written, with --checkpoint-steps, say"));
}

nn::Model model_of(const TrainedOptions& o) {
  const bool channels_last = !o.device.starts_with("cpu");
  if (const auto shape = saved_shape(o.folder)) return shaped_model(o.model, *shape, channels_last);
  return training_model(o.data, o.model,
                        {.classes = o.classes, .size = o.size, .channels_last = channels_last});
}

/// What validation used is what is used.
void load_average(const fs::path& path, const nn::Model& model) {
  std::error_code none;
  if (!fs::exists(path, none)) return;
  const train::SafetensorsFile file(path.string());
  for (const nn::Parameter& parameter : model.parameters()) {
    Tensor to = parameter.tensor();
    if (parameter.trainable()) file.read_into(parameter.name(), to);
  }
}

std::unique_ptr<train::Trainer> trainer_for(const TrainedOptions& o, const nn::Model& model,
                                            const Device& device) {
  train::TrainerOptions options;
  options.device = device;
  options.precision = train::Precision::parse(o.precision);
  return std::make_unique<train::Trainer>(model, options);
}

/// Throws BudgetTooSmall with a budget that is enough, where that is more than the one given.
void name_enough(const TrainedOptions& o, const char* command,
                 const std::function<TrainedUse(const nn::Model&)>& use) {
  const Bytes budget = budget_of(o);
  // With room to look at the data. On the CPU a limit takes nothing; a GPU is as large as it is.
  const bool host = o.device.starts_with("cpu");
  const Device device =
      Device::open(o.device, {.limit = host ? Limit(std::max(budget, MiB(64))) : Limit()});
  const nn::Model model = model_of(o);
  TrainedUse used = use(model);
  if (!host) used.decode.reset();
  const Bytes enough = trainer_for(o, model, device)->enough_for(used.use, used.batch, used.decode);
  if (enough <= budget) return;
  throw BudgetTooSmall(
      fmt::format("[{}] a batch of {} does not fit {} on {}\n"
                  "a budget that is enough: {}",
                  command, used.batch, format_bytes(budget), device.name(),
                  enough % MiB(1) == 0 ? fmt::format("{}MiB", enough / MiB(1))
                                       : fmt::format("{}KiB", enough / KiB(1))));
}

}  // namespace

void add_trained_options(Command& command, TrainedOptions& o) {
  command.add_option("RUN", o.folder, "The folder given to `train --checkpoints`")
      ->required()
      ->type_name("");
  command.add_option("--checkpoint", o.checkpoint, "Which checkpoint to use: latest, best")
      ->check(OneOf{{"latest", "best"}})
      ->type_name("NAME")
      ->show_default();
  command
      .add_option("--budget", o.budget,
                  "Memory limit on the device: 4GiB, 50%; default: as in training")
      ->type_name("SIZE");
  command.add_option("--device", o.device, "Device: cpu:0, cuda:0; default: as in training")
      ->type_name("DEVICE");
  command
      .add_option("--precision", o.precision,
                  "Precision: f32, tf32, bf16, f16; default: as in training")
      ->check(OneOf{{"f32", "tf32", "bf16", "f16"}})
      ->type_name("NAME");
  // Read from the run only.
  command.add_option("--model", o.model)->hide();
  command.add_option("--size", o.size)->hide();
  command.add_option("--classes", o.classes)->hide();
}

void add_trained_data_options(Command& command, TrainedOptions& o) {
  command.add_option("--data", o.data, "Data as for `plimsoll train`; default: as in training")
      ->type_name("DATA");
  command.add_option("--batch", o.batch, "Batch size; default: as in training")->check(is_count);
  command.add_option("--host-budget", o.host_budget, "Memory limit of input pipelines on the host")
      ->type_name("SIZE");
  command.add_flag("--json", o.json, "Print JSON");
  // Read from the run only.
  command.add_option("--seed", o.seed)->hide();
  command.add_option("--elements", o.elements)->hide();
  command.add_flag("--no-validation", o.no_validation)->hide();
}

void restore_options(Command& command, TrainedOptions& o) {
  std::error_code none;
  if (!fs::is_directory(o.folder, none)) {
    throw DataError(
        fmt::format("{}: there is no such folder; give the one that was given to "
                    "`plimsoll train --checkpoints`",
                    printable(o.folder)));
  }
  if (!restore_run(command, o.folder)) {
    throw DataError(
        fmt::format("{}: there is no run in this folder; give the one that was given "
                    "to `plimsoll train --checkpoints`",
                    printable(o.folder)));
  }
  complete(o);
}

Trained load_trained(const TrainedOptions& o) {
  require_device(o.device);
  const fs::path folder = checkpoint_folder(o);
  train::verify_checkpoint(folder.string());
  const Bytes budget = budget_of(o);
  Device device = Device::open(o.device, {.limit = budget == 0 ? Limit() : Limit(budget)});
  nn::Model model = model_of(o);
  try {
    train::load_checkpoint((folder / "model.safetensors").string(), {.module = &model}, device);
    load_average(folder / "average.safetensors", model);
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("{}; it is read as a checkpoint of {}: train again, or copy the folder again, "
                    "if files of another run or model are in it",
                    error.what(), o.model));
  }
  auto trainer = trainer_for(o, model, device);
  return {std::move(device), std::move(trainer)};
}

void within_budget(const TrainedOptions& o, const char* command, const std::function<void()>& run,
                   const std::function<TrainedUse(const nn::Model&)>& use) {
  std::exception_ptr refused;
  try {
    return run();
  } catch (const OutOfMemory&) {
    refused = std::current_exception();
  } catch (const BudgetTooSmall&) {
    refused = std::current_exception();
  }
  if (budget_of(o) != 0) name_enough(o, command, use);
  std::rethrow_exception(refused);
}

}  // namespace plimsoll::tools
