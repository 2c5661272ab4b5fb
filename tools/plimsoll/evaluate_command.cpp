// `plimsoll evaluate` and `plimsoll predict`: a trained model on data.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/ops/elementwise.h>

#include "command_line.h"
#include "commands.h"
#include "run_file.h"
#include "trained_model.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEvaluateFooter =
    "Examples:\n"
    "  plimsoll train --model resnet18 --data photos --checkpoints run\n"
    "  plimsoll evaluate run\n"
    "  plimsoll evaluate run --data other-photos --json\n"
    "\n"
    "Without --data, it uses the validation data of the training run, or all of its\n"
    "data if there was no validation. With --data, it uses all of the data, or the\n"
    "val folder if the data contains train and val.";

constexpr const char* kPredictFooter =
    "Examples:\n"
    "  plimsoll predict run --data photos/val\n"
    "  plimsoll predict run --data table.csv --json\n"
    "\n"
    "Prints one line per element, in the order of the data: its number (from 0), the\n"
    "most likely class and its probability, or the number if the model predicts\n"
    "numbers. A .csv file does not need labels.";

/// The elements that a trained model is to be used on, with how many there are.
struct UsedData {
  TrainingData all;
  const data::Dataset& set() const { return all.validation ? *all.validation : *all.train; }
  std::int64_t count() const { return all.validation ? all.validation_count : all.train_count; }
  data::Dataset batches(std::int64_t batch) const {
    return set().batch(std::min(batch, count())).prefetch();
  }
};

/// Of the classes, where the run has some.
std::vector<std::string> names_of(const TrainedOptions& o) {
  const auto shape = saved_shape(o.folder);
  return shape ? shape->names : std::vector<std::string>();
}

UsedData data_of(const TrainedOptions& o, const nn::Model& model, bool divides, bool unlabelled) {
  UsedData used{training_data(o.data, model,
                              {.elements = o.elements,
                               .seed = o.seed,
                               .in_order = true,
                               .validates = divides,
                               .unlabelled = unlabelled,
                               .names = names_of(o)})};
  if (used.count() < 1) throw InvalidArgument(fmt::format("--data {}: it is empty", o.data));
  return used;
}

/// What a batch of them takes.
TrainedUse trained_use(const TrainedOptions& o, const UsedData& used, train::Trainer::Use use) {
  return {.use = use, .batch = std::min(o.batch, used.count()), .decode = used.all.decode};
}

UsedData evaluated_data(const TrainedOptions& o, const nn::Model& model, bool other) {
  return data_of(o, model, !other && !o.no_validation, false);
}

void evaluate(const TrainedOptions& o, bool other) {
  const Trained trained = load_trained(o);
  const UsedData used = evaluated_data(o, trained.trainer->model(), other);
  const train::Metrics metrics = trained.trainer->evaluate(used.batches(o.batch), {}, host_of(o));
  Json json = {{"elements", used.count()}};
  for (const auto& [name, value] : metrics) json[name] = value;
  if (o.json) {
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}", counted(used.count(), "element"));
  for (const auto& [name, value] : metrics) fmt::print("  {} {:.4f}", name, value);
  fmt::print("\n");
}

void print_values(const Tensor& values, std::int64_t& number, bool as_json) {
  for (const float value : values.to_vector<float>()) {
    if (as_json) {
      fmt::print("{}\n", Json{{"element", number++}, {"value", value}}.dump());
    } else {
      fmt::print("{} {}\n", number++, value);
    }
  }
}

void print_rows(const Tensor& logits, const std::vector<std::string>& names, std::int64_t& number,
                bool as_json) {
  const std::int64_t rows = logits.dim(0);
  const std::int64_t classes = logits.dim(1);
  const std::vector<float> all = logits.to_vector<float>();
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto first = all.begin() + r * classes;
    const auto best = std::max_element(first, first + classes);
    double total = 0;
    for (auto at = first; at != first + classes; ++at) total += std::exp(*at - *best);
    const auto index = static_cast<std::size_t>(best - first);
    const bool named = index < names.size();
    if (as_json) {
      const Json label = named ? Json(names[index]) : Json(index);
      fmt::print("{}\n",
                 Json{{"element", number++}, {"class", label}, {"probability", 1 / total}}.dump());
    } else {
      fmt::print("{} {} {:.4f}\n", number++,
                 named ? printable(names[index]) : fmt::format("{}", index), 1 / total);
    }
  }
}

void predict(const TrainedOptions& o) {
  const Trained trained = load_trained(o);
  const nn::Model& model = trained.trainer->model();
  if (model.target_type(1).shape.rank() != 1) {
    throw InvalidArgument(fmt::format(
        "predict: {} gives more than one class per element, which cannot be printed in a line; a "
        "language model writes with `plimsoll generate`",
        o.model));
  }
  const UsedData used = data_of(o, model, false, true);
  const std::optional<Device> host = host_of(o);
  data::Pipeline pipeline(used.batches(o.batch), host ? *host : trained.device, {});
  const bool values = model.target_type(1).dtype == DType::f32;
  const std::vector<std::string> names = names_of(o);
  std::int64_t number = 0;
  while (const auto batch = pipeline.next()) {
    const Tensor input = batch->at(0).tensor().to(trained.device);
    const Tensor found = ops::cast(trained.trainer->predict(input), DType::f32);
    if (values) {
      print_values(found, number, o.json);
    } else {
      print_rows(found, names, number, o.json);
    }
  }
}

void add_use(Command& app, const char* name, const char* what, const char* footer,
             void (*run)(Command&, TrainedOptions&)) {
  Command* const command = app.add_subcommand(name, what)->footer(footer);
  const auto options = std::make_shared<TrainedOptions>();
  add_trained_options(*command, *options);
  add_trained_data_options(*command, *options);
  command->callback([command, options, run] { run(*command, *options); });
}

void run_evaluate(Command& command, TrainedOptions& o) {
  const bool other = command.find("--data")->given();
  restore_options(command, o);
  within_budget(
      o, "evaluate", [&] { evaluate(o, other); },
      [&](const nn::Model& model) {
        return trained_use(o, evaluated_data(o, model, other), train::Trainer::Use::evaluate);
      });
}

void run_predict(Command& command, TrainedOptions& o) {
  restore_options(command, o);
  within_budget(
      o, "predict", [&] { predict(o); },
      [&](const nn::Model& model) {
        return trained_use(o, data_of(o, model, false, true), train::Trainer::Use::predict);
      });
}

}  // namespace

void add_evaluate(Command& app) {
  add_use(app, "evaluate", "Print the loss and metrics of a trained model", kEvaluateFooter,
          run_evaluate);
}

void add_predict(Command& app) {
  add_use(app, "predict", "Print a trained model's predictions", kPredictFooter, run_predict);
}

}  // namespace plimsoll::tools
