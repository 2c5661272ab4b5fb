#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/report/progress.h>
#include <plimsoll/train/control.h>

#include "commands.h"
#include "train_options.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kFooter =
    "Examples:\n"
    "  plimsoll train\n"
    "  plimsoll train --model resnet18 --size 64 --batch 32 --budget 400MiB --steps 3\n"
    "  plimsoll train --data photos --model resnet50 --budget 4GiB --checkpoints run\n"
    "  plimsoll train --resume run\n"
    "\n"
    "Ctrl-C finishes the step, writes a checkpoint, says how to go on and exits 130;\n"
    "SIGTERM and SIGHUP do the same and exit 143 and 129.\n"
    "`plimsoll ctl PID --budget 2GiB` moves the limit while it runs.\n";

constexpr const char* kRunFile = "run.json";

// What a signal handler can reach.
std::atomic<bool> g_interrupted{false};  // NOLINT: see above
std::atomic<int> g_signal{0};            // NOLINT: see above
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

/// Ctrl-C asks for the end, and so do those who stop processes; a second time ends at once.
class Interrupt {
 public:
  Interrupt() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      g_signal.store(signal);
      g_interrupted.store(true);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // nohup stays so. A shell's background jobs ignore Ctrl-C, but not who sends it to them.
      if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
      sigaction(kSignals[i], &action, nullptr);
    }
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_ = {};
};

struct RunOptions : TrainOptions {
  std::string checkpoints;
  std::string resume;
  std::int64_t checkpoint_steps = 0;
  std::int64_t checkpoint_epochs = 1;
  std::string best;
  std::int64_t patience = 0;
  std::string log;
  int threads = 0;
  std::int64_t skip_errors = 0;
  bool quiet = false;
};

/// Options of this call alone; all others say what the run is, and with --resume those not given
/// are taken from it.
bool of_the_run(const CLI::Option& option) {
  for (const char* name : {"--help", "--json", "--resume", "--checkpoints", "--log", "--quiet"}) {
    if (option.check_name(name)) return false;
  }
  return true;
}

/// A run's options are read again to the byte, so that there is no replacement for them.
std::string text_of(const Json& json) {
  try {
    return json.dump(1);
  } catch (const nlohmann::json::type_error&) {
    throw InvalidArgument(fmt::format(
        "an option of a run that has checkpoints is no UTF-8: {}; rename the file or folder",
        json.dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
}

void save_run(const CLI::App& command, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw DataError(fmt::format("--checkpoints {}: {}", folder, error.message()));
  Json json = Json::object();
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && of_the_run(*option)) {
      json[option->get_single_name()] = option->results();
    }
  }
  const fs::path path = fs::path(folder) / kRunFile;
  const fs::path temporary = fs::path(folder) / fmt::format(".{}-{}", kRunFile, ::getpid());
  std::ofstream file(temporary);
  file << text_of(json) << "\n";
  file.close();
  // What was not written (a full disk) does not replace what is there.
  if (file) {
    fs::rename(temporary, path, error);
  } else {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  throw DataError(fmt::format("{}: {}", path.string(), error.message()));
}

void restore_run(CLI::App& command, const std::string& folder) {
  std::ifstream file(fs::path(folder) / kRunFile);
  if (!file) return;
  try {
    const Json json = Json::parse(file);
    for (const auto& [name, values] : json.items()) {
      CLI::Option* const option = command.get_option_no_throw("--" + name);
      if (option == nullptr || option->count() > 0) continue;
      // How long it goes on is said by either of the two.
      const char* const other = name == "steps" ? "--epochs" : name == "epochs" ? "--steps" : "";
      if (*other != 0 && command.get_option(other)->count() > 0) continue;
      for (const Json& value : values) option->add_result(value.get<std::string>());
      option->run_callback();
    }
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("--resume: {}/{} is damaged: {}", folder, kRunFile, error.what()));
  }
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// What the system counts on a GPU at the end; on the CPU the RSS has more in it than the budget.
void print_use(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return;
  const MemoryUse use = device.use();
  if (use.source == UsageSource::process) {
    fmt::print("the driver counts {} for this process\n", format_bytes(use.bytes));
  } else if (use.source == UsageSource::free_memory) {
    fmt::print("{} less is free on {} than before it was opened; {}\n", format_bytes(use.bytes),
               device.name(), usage_note(use.source));
  }
}

Json result_json(const train::FitResult& result, const Device& device) {
  Json losses = Json::array();
  for (const float loss : result.losses) losses.push_back(number(static_cast<double>(loss)));
  Json metrics = Json::object();
  if (!result.history.empty()) {
    for (const auto& [name, value] : result.history.back()) metrics[name] = number(value);
  }
  const MemoryUse use = device.use();
  return {{"planned_peak", result.planned_peak},
          {"measured_peak", result.measured_peak},
          {"charged_peak", result.charged_peak},
          {"budget", device.budget().limit()},
          {"device_used", use.source == UsageSource::unknown ? Json() : Json(use.bytes)},
          {"usage", usage_name(use.source)},
          {"losses", losses},
          {"metrics", metrics},
          {"steps", result.steps},
          {"epochs", result.epochs},
          {"seconds", result.seconds},
          {"replans", result.replans},
          {"corrections", result.corrections},
          {"predicted_step_seconds", result.predicted_step_seconds},
          {"corrected_step_seconds", result.corrected_step_seconds},
          {"measured_step_seconds", result.measured_step_seconds},
          {"stopped", result.stopped},
          {"checkpoint", result.checkpoint}};
}

void train_now(CLI::App& command, RunOptions& o) {
  if (!o.resume.empty()) {
    if (!o.checkpoints.empty() && o.checkpoints != o.resume) {
      throw InvalidArgument("--resume and --checkpoints name two folders; --resume is enough");
    }
    restore_run(command, o.resume);
    o.checkpoints = o.resume;
  }
  complete(o);
  Prepared prepared = prepare(o);
  const std::optional<Device> host = host_of(o);
  prepared.request.host = host;
  const Opened opened = open_device(o, prepared);
  const Device& device = opened.device;
  const train::TrainingPlan plan = prepared.trainer->plan(prepared.request, device);
  if (!o.json && !o.quiet) fmt::print("{}", plan.explain());
  std::fflush(stdout);

  RunLog log = o.log.empty() ? RunLog() : RunLog(o.log);
  const bool saves = !o.checkpoints.empty();
  train::FitOptions options;
  options.epochs = o.epochs;
  options.steps = o.steps;
  options.checkpoints = o.checkpoints;
  options.checkpoint_steps = o.checkpoint_steps;
  options.checkpoint_epochs = o.checkpoint_epochs;
  options.best = o.best;
  options.early_stopping.patience = o.patience;
  options.resume = !o.resume.empty();
  options.pipeline.threads = o.threads;
  options.pipeline.seed = o.seed;
  options.pipeline.skip_errors = o.skip_errors;
  options.host = host;
  options.log = &log;
  options.stop = &g_interrupted;
  options.stop_checkpoints = saves ? "" : fmt::format("plimsoll-run-{}", ::getpid());
  if (saves) {
    // Only once the folder was found to be free, or this run's own.
    train::Callback remember;
    remember.on_begin = [&](train::Run&) { save_run(command, o.checkpoints); };
    options.callbacks.push_back(remember);
  }
  if (!o.quiet) {
    options.callbacks.push_back(report::progress({.out = o.json ? stderr : stdout}));
  }
  const Interrupt interrupt;
  const train::ControlServer control(device);
  const data::Dataset training = prepared.data.train->batch(o.batch).prefetch();
  std::optional<data::Dataset> validation;
  if (prepared.data.validation) validation = prepared.data.validation->batch(o.validation_batch);
  const train::FitResult result = prepared.trainer->fit(plan, training, validation, options);

  if (o.json) {
    fmt::print("{}\n",
               result_json(result, device).dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{} steps in {:.1f} s; planned peak {} bytes, measured {}; budget peak {} of {}\n",
               result.steps, result.seconds, result.planned_peak, result.measured_peak,
               format_bytes(result.charged_peak), format_bytes(device.budget().limit()));
    if (result.measured_step_seconds > 0) {
      fmt::print(
          "a step: {:.3g} ms predicted, {}{:.3g} ms at best by the clock\n",
          result.predicted_step_seconds * 1e3,
          result.corrected_step_seconds > 0
              ? fmt::format("{:.3g} ms by measured ops, ", result.corrected_step_seconds * 1e3)
              : "",
          result.measured_step_seconds * 1e3);
    }
    print_use(device);
    if (!log.path().empty()) fmt::print("run log: {}\n", log.path());
    if (!result.stopped.empty()) fmt::print("stopped: {}\n", result.stopped);
  }
  if (result.stopped == "interrupted") {
    std::fflush(stdout);
    const std::string folder = saves ? o.checkpoints : options.stop_checkpoints;
    if (!saves) save_run(command, folder);
    fmt::print(stderr, "interrupted after step {}; go on with: plimsoll train --resume {}\n",
               result.steps, folder);
    throw CLI::RuntimeError(128 + g_signal.load());
  }
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* const train =
      app.add_subcommand("train", "Train a model within a budget")->footer(kFooter);
  const auto options = std::make_shared<RunOptions>();
  add_options(*train, *options);
  train->add_option("--checkpoints", options->checkpoints, "Folder to write checkpoints to");
  train->add_option("--resume", options->resume,
                    "Go on from this folder's latest checkpoint, and write further ones there");
  train->add_option("--checkpoint-steps", options->checkpoint_steps, "One every so many steps");
  train->add_option("--checkpoint-epochs", options->checkpoint_epochs, "And so many epochs")
      ->capture_default_str();
  train->add_option("--best", options->best, "Metric of the best one: validation_accuracy");
  train
      ->add_option("--patience", options->patience,
                   "Stop after so many epochs without a lower validation_loss")
      ->check(CLI::NonNegativeNumber);
  train->add_option("--log", options->log, "Run log, JSON lines");
  train->add_option("--threads", options->threads, "Of the input pipeline");
  train->add_option("--skip-errors", options->skip_errors, "Broken files to leave out per epoch");
  train->add_flag("--quiet", options->quiet, "No progress");
  train->callback([train, options] { train_now(*train, *options); });
}

}  // namespace plimsoll::tools
