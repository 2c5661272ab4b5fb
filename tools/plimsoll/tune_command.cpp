#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/device/choice_table.h>
#include <plimsoll/train/choices_file.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"
#include "train_options.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTuneFooter =
    "Examples:\n"
    "  plimsoll tune --model resnet50 --batch 256 --precision bf16 --device cuda:0\n"
    "  plimsoll train --model resnet50 --batch 256 --precision bf16 --device cuda:0 \\\n"
    "    --choices choices.json\n"
    "\n"
    "Give the options that the run will have: choices are for shapes. Measure on an\n"
    "idle device. A choice stays as it is unless another is faster by more than 3%,\n"
    "and again when the fastest are measured once more. With other choices a run\n"
    "computes other bits; with the same ones, the same bits.";

struct TuneCommand : TrainOptions {
  std::string out = "choices.json";
  double seconds = train::TuneOptions().seconds;
  std::int64_t alternatives = train::TuneOptions().alternatives;
};

/// Before minutes are spent on what could not be written.
void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument(fmt::format("--out {}: {}", printable(path), why));
  };
  std::error_code error;
  if (fs::is_directory(path, error)) refuse("it is a folder; name a file in it");
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    refuse("it is a device or a pipe, which would be replaced; name a file");
  }
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, error)) {
    refuse(fmt::format("there is no folder {}; create it", printable(folder.string())));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    refuse(
        fmt::format("{} cannot be written: {}", printable(folder.string()), std::strerror(errno)));
  }
}

void require_choices(const Device& device) {
  if (choice_table(device) != nullptr) return;
  throw InvalidArgument(
      fmt::format("--device {}: its kernels leave no choice to libraries, so that there is nothing "
                  "to measure; use a GPU: --device cuda:0",
                  device.name()));
}

Json tuned_json(const train::TuneResult& result, const std::string& path) {
  Json tuned = Json::array();
  for (const train::TunedChoice& each : result.tuned) {
    tuned.push_back({{"key", each.key},
                     {"task", each.task},
                     {"tasks", each.tasks},
                     {"measured", each.measured},
                     {"rule", each.rule},
                     {"chosen", each.chosen},
                     {"rule_seconds", each.rule_seconds},
                     {"chosen_seconds", each.chosen_seconds}});
  }
  return {{"choices", path},
          {"tuned", tuned},
          {"rule_step_seconds", result.rule_step_seconds},
          {"chosen_step_seconds", result.chosen_step_seconds},
          {"seconds", result.seconds},
          {"finished", result.finished}};
}

/// Two lines for each key: what was measured, and the key itself, which may be long.
void print_choices(const train::TuneResult& result) {
  fmt::print("{:>9}  {:>9}  {:>6}  {:>8}  task\n", "rule", "chosen", "saved", "measured");
  for (const train::TunedChoice& each : result.tuned) {
    const double saved = 1 - each.chosen_seconds / each.rule_seconds;
    fmt::print("{:>9}  {:>9}  {:>6}  {:>8}  {}{}\n", format_duration(each.rule_seconds),
               each.changed() ? format_duration(each.chosen_seconds) : "the same",
               each.changed() ? fmt::format("{:.0f}%", 100 * saved) : "", each.measured, each.task,
               each.tasks > 1 ? fmt::format(", {} times", each.tasks) : "");
    fmt::print("    {}\n", each.key);
  }
}

void print_tuned(const train::TuneResult& result) {
  print_choices(result);
  std::int64_t changed = 0;
  for (const train::TunedChoice& each : result.tuned) changed += each.changed() ? 1 : 0;
  fmt::print("\n{} of {} chosen otherwise, in {}{}\n", format_count(changed),
             counted(static_cast<std::int64_t>(result.tuned.size()), "key"),
             format_duration(result.seconds),
             result.finished ? "" : "; not all alternatives were measured, --seconds gives more");
  fmt::print("a step takes {} by the rules", format_duration(result.rule_step_seconds));
  if (changed != 0) {
    fmt::print(", {} with these choices", format_duration(result.chosen_step_seconds));
  }
  fmt::print("\n");
}

void tune_now(TuneCommand& o) {
  require_writable(o.out);
  complete(o);
  Prepared prepared = prepare(o);
  const std::optional<Device> host = host_of(o);
  prepared.request.host = host;
  const Opened opened = open_device(o, prepared);
  const Device& device = opened.device;
  require_choices(device);
  const train::TrainingPlan plan = prepared.trainer->plan(prepared.request, device);
  if (!o.json) fmt::print("{}{}\n", prepared.data.summary, plan.explain());
  std::fflush(stdout);

  data::Pipeline pipeline(prepared.data.train->batch(prepared.request.batch), host.value_or(device),
                          {.name = "tune", .seed = o.seed});
  const std::optional<data::Element> batch = pipeline.next();
  if (!batch) throw InvalidArgument(fmt::format("--data {}: it is empty", printable(o.data)));
  train::TuneOptions options{.seconds = o.seconds, .alternatives = o.alternatives};
  if (::isatty(STDERR_FILENO) != 0) {
    options.progress = [](const train::TuneProgress& now) {
      fmt::print(stderr, "\r{}, {}: {} of {} promise to be faster \r", format_duration(now.seconds),
                 counted(now.rounds, "round"), now.better, counted(now.keys, "key"));
    };
  }
  const train::TuneResult result = prepared.trainer->tune(plan, *batch, options);
  if (options.progress) fmt::print(stderr, "{:79}\r", "");
  train::write_choices(o.out, train::choices_file(device, result.choices));
  if (o.json) {
    fmt::print("{}\n",
               tuned_json(result, o.out).dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  print_tuned(result);
  if (result.chosen_step_seconds > result.rule_step_seconds) {
    fmt::print(stderr,
               "[tune] a whole step takes longer with these choices; measure again on an idle "
               "device, or train without them\n");
  }
  fmt::print("choices: {}; use them with: plimsoll train --choices {}\n", printable(o.out),
             printable(o.out));
}

}  // namespace

void add_tune(Command& app) {
  Command* const tune =
      app.add_subcommand("tune", "Measure which GPU algorithms suit a model")->footer(kTuneFooter);
  const auto options = std::make_shared<TuneCommand>();
  add_options(*tune, *options);
  tune->add_option("--out", options->out, "Write the choices to this file")
      ->check(is_path)
      ->type_name("FILE")
      ->show_default();
  tune->add_option("--seconds", options->seconds, "Measure for at most about so long")
      ->check(is_positive)
      ->type_name("N")
      ->show_default();
  tune->add_option("--alternatives", options->alternatives,
                   "Measure at most N other algorithms for each shape")
      ->check(is_count)
      ->type_name("N")
      ->show_default();
  tune->callback([options] { tune_now(*options); });
}

}  // namespace plimsoll::tools
