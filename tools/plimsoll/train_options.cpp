#include "train_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/plan/device_description.h>

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
  return optim::rmsprop({.lr = rate_of(o, 0.001, steps), .weight_decay = decay(0)});
}

std::vector<std::int64_t> remainder(std::int64_t count, std::int64_t batch) {
  const std::int64_t rest = count % batch;
  return rest == 0 || count < batch ? std::vector<std::int64_t>() : std::vector{rest};
}

/// For options where nothing is not the same as not given: an empty variable of a shell, say.
std::string is_given(const std::string& text) {
  return text.empty() ? "it is empty; give a size, as 4GiB, or leave the option out" : "";
}

/// Numbers that are no numbers would be taken for ones that were not given.
std::string is_finite(const std::string& text) {
  return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : text + " is no finite number";
}
std::string is_positive(const std::string& text) {
  return std::strtod(text.c_str(), nullptr) > 0 ? is_finite(text) : text + " is not above 0";
}

}  // namespace

void add_options(CLI::App& command, TrainOptions& o) {
  std::string models;
  for (const nn::ModelInfo& info : nn::list_models()) {
    models += fmt::format("{}{}", models.empty() ? "" : " ", info.name);
  }
  command.add_option("--model", o.model, "One of " + models)->capture_default_str();
  command.add_option("--data", o.data, "digits, synthetic, or a folder with a folder per class");
  command.add_option("--batch", o.batch, "Elements per step")->capture_default_str();
  command.add_option("--validation-batch", o.validation_batch, "Default: as --batch");
  command.add_option("--budget", o.budget, "Everything on the device: 4GiB, 50%")->check(is_given);
  command
      .add_option("--host-budget", o.host_budget,
                  "For pipelines on the host; on the CPU the same as --budget")
      ->check(is_given);
  command
      .add_option("--offload", o.offload,
                  "Pinned host memory for what has no room on a GPU: 8GiB; default: none")
      ->check(is_given);
  command.add_option("--precision", o.precision, "f32, bf16 or f16")->capture_default_str();
  command.add_option("--optimizer", o.optimizer, "sgd, adam, adamw or rmsprop")
      ->check(CLI::IsMember({"sgd", "adam", "adamw", "rmsprop"}))
      ->capture_default_str();
  command.add_option("--lr", o.lr, "Learning rate; default: the optimizer's usual one")
      ->check(is_positive);
  command.add_option("--momentum", o.momentum, "Of sgd")->capture_default_str();
  command.add_option("--weight-decay", o.weight_decay, "Default: 0.01 for adamw, else 0")
      ->check(is_finite)
      ->check(CLI::NonNegativeNumber);
  command.add_option("--schedule", o.schedule, "constant or cosine")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->capture_default_str();
  command.add_option("--warm-up", o.warm_up, "Steps over which the rate rises");
  command.add_option("--epochs", o.epochs, "Default: 10 for digits, else 1");
  command.add_option("--steps", o.steps, "Ends after so many steps");
  command.add_option("--seed", o.seed, "Of weights, order and dropout")->capture_default_str();
  command.add_option("--device", o.device, "Where it runs")->capture_default_str();
  command.add_option("--size", o.size, "Height and width of pictures; tokens");
  command.add_option("--classes", o.classes, "Default: as the data has them");
  command.add_option("--elements", o.elements, "Of synthetic data; default: eight batches");
  command.add_option("--accumulate", o.accumulate, "Work on a batch in so many parts")
      ->capture_default_str();
  command.add_option("--clip-norm", o.clip_norm, "Bound for the gradients' norm");
  command.add_option("--clip-value", o.clip_value, "Bound for each gradient");
  command.add_option("--average", o.average, "Decay of a moving average of the weights");
  command.add_option("--keep", o.keep, "Modules whose values are kept: layer1/0");
  command.add_option("--recompute", o.recompute, "Modules whose values are computed again");
  command.add_flag("--no-split", o.no_split, "Never split a batch");
  command.add_flag("--allow-split-batch-statistics", o.split_statistics,
                   "Split even where the model has statistics of the batch");
  command.add_flag("--no-validation", o.no_validation, "Train only");
  command.add_flag("--json", o.json, "One JSON object on the last line");
}

Bytes budget_of(const TrainOptions& o) {
  const bool host = o.device.starts_with("cpu");
  const auto parsed = [&](const std::string& text, const char* what) -> Bytes {
    if (text.empty()) return 0;
    // A share is one of the device that is named, or of this machine.
    const std::vector<DeviceInfo> all = list_devices();
    Bytes total = all.front().total;
    if (!host && !o.device.starts_with("cuda")) total = plan::describe_device(o.device).memory;
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
  if (o.batch < 1) throw InvalidArgument(fmt::format("--batch {}: give 1 or more", o.batch));
  for (const std::int64_t count :
       {o.batch, o.validation_batch, o.epochs, o.steps, o.elements, o.warm_up}) {
    if (count > kMost) throw InvalidArgument(fmt::format("{} is too large a number", count));
  }
  if (o.validation_batch < 0 || o.epochs < 0 || o.steps < 0 || o.elements < 0 || o.warm_up < 0 ||
      o.lr < 0) {
    throw InvalidArgument(
        "--validation-batch, --epochs, --steps, --elements, --warm-up and --lr must not be "
        "negative");
  }
  if (o.validation_batch == 0) o.validation_batch = o.batch;
  if (o.elements == 0) o.elements = kSyntheticBatches * o.batch;
}

Prepared prepare(const TrainOptions& o) {
  const nn::ModelOptions given = {
      .classes = o.classes, .size = o.size, .channels_last = !o.device.starts_with("cpu")};
  auto model = nn::make_model(o.model, model_options_for(o.data, o.model, given));
  Prepared all;
  all.data = training_data(o.data, *model, o.elements, o.seed, !o.no_validation);
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
  all.trainer = std::make_unique<train::Trainer>(std::move(model), optimizer_of(o, steps), options);

  all.request.batch = std::min(o.batch, count);
  all.request.remainders = remainder(count, o.batch);
  all.request.decode = all.data.decode;
  if (!o.offload.empty()) {
    if (o.device.starts_with("cpu")) {
      throw InvalidArgument(
          "--offload: on the CPU the host's memory is the device's; leave it out");
    }
    all.request.offload = parse_bytes(o.offload, "--offload");
  }
  if (o.no_validation) all.data.validation.reset();
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

Opened open_device(const TrainOptions& o, Prepared& prepared) {
  const Bytes budget = budget_of(o);
  const auto open = [&](const Limit& limit) {
    Device device = Device::open(o.device, {.limit = limit});
    Charge held = device.kind() == DeviceKind::cpu
                      ? device.budget().charge(Tag::input, o.data, prepared.data.held)
                      : Charge();
    return Opened{std::move(device), std::move(held)};
  };
  // Too little even to begin: the plan for all of the device says what would do.
  const auto name_what_fits = [&] {
    const Opened all = open(Limit());
    prepared.request.budget = budget;
    (void)prepared.trainer->plan(prepared.request, all.device);
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
