#include "train_options.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/data/unreadable.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/plan/device_description.h>

#include "command_line.h"
#include "mistakes.h"

namespace plimsoll::tools {
namespace {

/// Enough for lenet on the digits, with some to spare.
constexpr const char* kSmallBudget = "8MiB";
constexpr std::int64_t kDigitsEpochs = 10;
constexpr std::int64_t kSyntheticBatches = 8;

optim::Schedule rate_of(const TrainOptions& o, double standard, std::int64_t steps) {
  const double rate = o.lr > 0 ? o.lr : standard;
  optim::Schedule schedule = o.schedule == "cosine"
                                 ? optim::Schedule::cosine(rate, std::max<std::int64_t>(1, steps))
                                 : optim::Schedule(rate);
  return o.warm_up > 0 ? schedule.warm_up(o.warm_up) : schedule;
}

optim::Optimizer optimizer_of(const TrainOptions& o, std::int64_t steps) {
  const auto decay = [&](double standard) {
    return o.weight_decay >= 0 ? o.weight_decay : standard;
  };
  if (o.optimizer == "sgd") {
    return optim::sgd(
        {.lr = rate_of(o, 0.01, steps), .momentum = o.momentum, .weight_decay = decay(0)});
  }
  if (o.optimizer == "adam") {
    return optim::adam({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "adamw") {
    return optim::adamw({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0.01)});
  }
  if (o.optimizer == "rmsprop") {
    return optim::rmsprop({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "adagrad") {
    return optim::adagrad({.lr = rate_of(o, 0.01, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "lazy_adam") {
    if (o.weight_decay > 0) {
      throw InvalidArgument(
          "--weight-decay: lazy_adam has no weight decay, because it does not touch most rows; use "
          "adamw");
    }
    return optim::lazy_adam({.lr = rate_of(o, 0.001, steps)});
  }
  if (o.optimizer == "adadelta") {
    return optim::adadelta({.lr = rate_of(o, 1, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "nadam") {
    return optim::nadam({.lr = rate_of(o, 0.002, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "lion") {
    return optim::lion({.lr = rate_of(o, 1e-4, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "lamb") {
    return optim::lamb({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0)});
  }
  if (o.optimizer == "adafactor") {
    return optim::adafactor({.lr = rate_of(o, 0.01, steps), .weight_decay = decay(0)});
  }
  return optim::adamw_8bit({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0.01)});
}

std::vector<std::int64_t> remainder(std::int64_t count, std::int64_t batch) {
  const std::int64_t rest = count % batch;
  return rest == 0 || count < batch ? std::vector<std::int64_t>() : std::vector{rest};
}

/// For options where nothing is not the same as not given: an empty variable of a shell, say.
std::string is_given(const std::string& text) {
  return text.empty() ? "is empty; give a size such as 4GiB, or leave the option out" : "";
}

/// Files that are no images are named before anything is planned, as far as their headers tell.
void check_readable(const TrainingData& data, std::int64_t allowed) {
  for (const auto& set : {data.train, data.validation}) {
    if (!set) continue;
    const std::int64_t bad = data::decode_needs(*set, std::chrono::milliseconds(0)).unreadable;
    if (bad <= allowed || allowed < 0) continue;
    throw DataError(
        fmt::format("--data: {}{}; remove {}, or train with --skip-errors -1, which skips any "
                    "number; `plimsoll "
                    "data inspect` names every bad file",
                    data::first_unreadable(*set),
                    bad == 1 ? "" : fmt::format(" (and {} more whose headers are bad)", bad - 1),
                    bad == 1 ? "it" : "them"));
  }
}

}  // namespace

void add_options(Command& command, TrainOptions& o) {
  std::vector<std::string> models;
  for (const nn::ModelInfo& info : nn::list_models()) models.emplace_back(info.name);
  const auto size = [&](const char* name, std::string& to, const char* what) {
    return command.add_option(name, to, what)->check(is_given)->type_name("SIZE");
  };
  const auto choice = [&](const char* name, std::string& to, const char* what,
                          std::vector<std::string> names) {
    const std::string text = fmt::format("{}: {}", what, fmt::join(names, ", "));
    command.add_option(name, to, text)
        ->check(OneOf{std::move(names)})
        ->type_name("NAME")
        ->show_default();
  };
  choice("--model", o.model, "Model", models);
  command
      .add_option("--data", o.data,
                  "digits, synthetic, a folder with one folder of images per class, records, a "
                  ".txt file, or a table (.csv, or a folder with x.npy and y.npy)")
      ->type_name("DATA");
  command
      .add_option("--augment", o.augment,
                  "Change training images at random; any of these, with commas between them: " +
                      Augmentation::names())
      ->type_name("LIST");
  command.add_option("--batch", o.batch, "Batch size")->check(is_count)->show_default();
  command
      .add_option("--validation-batch", o.validation_batch,
                  "Batch size of validation; default: --batch")
      ->check(is_count);
  size("--budget", o.budget, "Memory limit on the device: 4GiB, 50%");
  size("--host-budget", o.host_budget,
       "Memory limit of input pipelines on the host; on the CPU the same as --budget");
  size("--offload", o.offload,
       "Pinned host memory for what does not fit on a GPU: 8GiB; default: none");
  choice("--precision", o.precision, "Precision of the computation",
         {"f32", "tf32", "bf16", "f16"});
  choice("--optimizer", o.optimizer, "Optimizer",
         {"sgd", "adam", "adamw", "adamw_8bit", "rmsprop", "adagrad", "lazy_adam", "adadelta",
          "nadam", "lion", "lamb", "adafactor"});
  command
      .add_option("--lr", o.lr,
                  "Learning rate; default: the optimizer's own (sgd: 0.01, adam: 0.001)")
      ->check(is_positive);
  command.add_option("--momentum", o.momentum, "Momentum of sgd")
      ->check(is_not_negative)
      ->show_default();
  command
      .add_option("--weight-decay", o.weight_decay,
                  "Weight decay; default: 0.01 for adamw and adamw_8bit, else 0")
      ->check(is_not_negative);
  choice("--schedule", o.schedule, "Learning rate schedule", {"constant", "cosine"});
  command.add_option("--warm-up", o.warm_up, "Steps over which the learning rate rises from 0")
      ->check(is_count_or_zero);
  command.add_option("--epochs", o.epochs, "Stop after N epochs; default: 10 for digits, else 1")
      ->check(is_count)
      ->type_name("N");
  command.add_option("--steps", o.steps, "Stop after N steps")->check(is_count)->type_name("N");
  command.add_option("--seed", o.seed, "Seed of weights, shuffling and dropout")
      ->check(is_count_or_zero)
      ->show_default();
  command.add_option("--device", o.device, "Device: cpu:0, cuda:0")
      ->type_name("DEVICE")
      ->show_default();
  command.add_option("--size", o.size, "Height and width of images, or tokens of a sequence")
      ->check(is_count);
  command.add_option("--classes", o.classes, "Number of classes; default: as many as the data has")
      ->check(is_count);
  command.add_option("--elements", o.elements, "Examples of synthetic data; default: 8 batches")
      ->check(is_count);
  command
      .add_option("--accumulate", o.accumulate, "Gradient accumulation: micro-batches per batch")
      ->check(is_count)
      ->show_default();
  command.add_option("--clip-norm", o.clip_norm, "Clip gradients to this global norm")
      ->check(is_not_negative);
  command.add_option("--clip-value", o.clip_value, "Clip each gradient to this magnitude")
      ->check(is_not_negative);
  command
      .add_option("--average", o.average,
                  "Decay of a moving average of the weights, used for validation: 0.999")
      ->check(is_decay);
  command.add_option("--keep", o.keep, "Modules whose activations are kept: layer1/0")
      ->type_name("NAME");
  command
      .add_option("--recompute", o.recompute,
                  "Modules whose activations are recomputed (activation checkpointing)")
      ->type_name("NAME");
  command.add_flag("--no-split", o.no_split, "Never split a batch into micro-batches");
  command.add_flag("--allow-split-batch-statistics", o.split_statistics,
                   "Split batches even if the model has batch normalization, which then sees "
                   "micro-batches");
  command.add_flag("--no-validation", o.no_validation, "Train without validation");
  command.add_flag("--json", o.json, "Print one JSON object, sizes in bytes");
}

Bytes budget_of(const TrainOptions& o) {
  const bool host = o.device.starts_with("cpu");
  const auto parsed = [&](const std::string& text, const char* what) -> Bytes {
    if (text.empty()) return 0;
    // A share is one of the device that is named, or of this machine.
    const std::vector<DeviceInfo> all = list_devices();
    Bytes total = all.front().total;
    if (backend_of(o.device) == nullptr) total = plan::describe_device(o.device).memory;
    for (const DeviceInfo& device : all) {
      if (device.name == o.device || device.name == o.device + ":0") total = device.total;
    }
    const auto limit = Limit::parse(text, what).resolve(total);
    if (limit == Bytes{0}) {
      throw InvalidArgument(fmt::format("{} {}: give at least a few MiB", what, text));
    }
    return limit.value_or(0);
  };
  const Bytes budget = parsed(o.budget, "--budget");
  if (!host) return budget;
  // One tree: the smaller of the two holds.
  const Bytes other = parsed(o.host_budget, "--host-budget");
  if (budget == 0 || other == 0) return std::max(budget, other);
  return std::min(budget, other);
}

void complete(TrainOptions& o) {
  const bool small = o.model == "lenet" || o.model == "mlp";
  if (o.data.empty()) {
    o.data = small ? "digits" : "synthetic";
    if (small && o.budget.empty() && o.host_budget.empty() && o.device.starts_with("cpu")) {
      o.budget = kSmallBudget;
    }
  }
  if (o.epochs == 0 && o.steps == 0) o.epochs = o.data == "digits" ? kDigitsEpochs : 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // products of two stay numbers
  for (const auto& [option, count] :
       {std::pair{"--batch", o.batch}, std::pair{"--validation-batch", o.validation_batch},
        std::pair{"--epochs", o.epochs}, std::pair{"--steps", o.steps},
        std::pair{"--elements", o.elements}, std::pair{"--warm-up", o.warm_up}}) {
    if (count > kMost) {
      throw InvalidArgument(fmt::format("{} {} is too large", option, count));
    }
  }
  if (o.validation_batch == 0) o.validation_batch = o.batch;
  if (o.elements == 0) o.elements = kSyntheticBatches * o.batch;
}

Prepared prepare(const TrainOptions& o, std::int64_t skip_errors) {
  const nn::ModelOptions given = {
      .classes = o.classes, .size = o.size, .channels_last = !o.device.starts_with("cpu")};
  auto model = training_model(o.data, o.model, given);
  Prepared all;
  all.data = training_data(o.data, model,
                           {.elements = o.elements,
                            .seed = o.seed,
                            .validates = !o.no_validation,
                            .augment = Augmentation(o.augment)});
  check_readable(all.data, skip_errors);
  const std::int64_t count = all.data.train_count;
  if (count < 1) throw InvalidArgument(fmt::format("--data {}: it is empty", o.data));
  const std::int64_t batches = (count + o.batch - 1) / o.batch;
  const std::int64_t steps = o.steps > 0 ? o.steps : o.epochs * batches;
  train::TrainerOptions options;
  options.precision = train::Precision::parse(o.precision);
  options.seed = o.seed;
  options.clip_norm = o.clip_norm;
  options.clip_value = o.clip_value;
  options.accumulate = o.accumulate;
  options.moving_average = o.average;
  options.keep = o.keep;
  options.recompute = o.recompute;
  options.allow_split = !o.no_split;
  options.allow_split_batch_statistics = o.split_statistics;
  options.choices = o.choices;
  all.trainer = std::make_unique<train::Trainer>(std::move(model), optimizer_of(o, steps), options);

  all.request.batch = std::min(o.batch, count);
  all.request.remainders = remainder(count, o.batch);
  all.request.decode = all.data.decode;
  all.request.decode_file = all.data.decode_file;
  if (!o.offload.empty()) {
    if (o.device.starts_with("cpu")) {
      throw InvalidArgument(
          "--offload: it is for GPUs; a run on the CPU has nothing to offload to");
    }
    all.request.offload = parse_bytes(o.offload, "--offload");
  }
  if (o.no_validation) all.data.validation.reset();
  if (all.data.validation && all.data.validation_count < 1) {
    throw InvalidArgument(fmt::format(
        "--data {}: its validation folder has no images; add some, or use --no-validation",
        o.data));
  }
  if (all.data.validation) {
    all.request.validation_batch = std::min(o.validation_batch, all.data.validation_count);
    all.request.validation_remainders = remainder(all.data.validation_count, o.validation_batch);
  }
  return all;
}

std::optional<Device> host_of(const TrainOptions& o) {
  if (o.device.starts_with("cpu")) return std::nullopt;
  const Limit limit =
      o.host_budget.empty() ? Limit() : Limit::parse(o.host_budget, "--host-budget");
  return Device::open("cpu:0", {.limit = limit});
}

void require_device(const std::string& name) {
  if (backend_of(name) != nullptr) return;  // whether it is there, opening it tells
  try {
    (void)plan::describe_device(name);
  } catch (const Error&) {
    return;
  }
  throw InvalidArgument(
      fmt::format("--device {0}: it can be planned for, with `plimsoll plan --device {0}`, but is "
                  "not in this machine",
                  printable(name)));
}

Opened open_device(const TrainOptions& o, Prepared& prepared) {
  require_device(o.device);
  const Bytes budget = budget_of(o);
  const auto open = [&](const Limit& limit) {
    Device device = Device::open(o.device, {.limit = limit});
    Charge held = device.capabilities().host_memory
                      ? device.budget().charge(Tag::input, o.data, prepared.data.held)
                      : Charge();
    return Opened{std::move(device), std::move(held)};
  };
  // On the CPU the least that can be opened: its pages are those of a small limit. A GPU is all of
  // it.
  const auto open_more = [&] {
    const Bytes most = o.device.starts_with("cpu") ? GiB(1) : 0;
    for (Bytes limit = std::max(budget, KiB(64)); limit <= most; limit *= 2) {
      try {
        return open(Limit(limit));
      } catch (const OutOfMemory&) {
        continue;
      }
    }
    return open(Limit());
  };
  // Too little even to begin: the plan for more says what would do.
  const auto name_what_fits = [&] {
    const Opened more = open_more();
    prepared.request.budget = budget;
    (void)prepared.trainer->plan(prepared.request, more.device);
  };
  if (budget == 0) return open(Limit());
  try {
    return open(Limit(budget));
  } catch (const OutOfMemory&) {
    name_what_fits();
    throw;
  } catch (const BudgetTooSmall&) {
    name_what_fits();
    throw;
  }
}

}  // namespace plimsoll::tools
