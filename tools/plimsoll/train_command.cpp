#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/report/chart.h>
#include <plimsoll/report/live.h>
#include <plimsoll/report/progress.h>
#include <plimsoll/train/control.h>

#include "command_line.h"
#include "commands.h"
#include "interrupt.h"
#include "mistakes.h"
#include "run_file.h"
#include "train_options.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTrainFooter =
    "Examples:\n"
    "  plimsoll train\n"
    "  plimsoll train --model resnet18 --size 64 --batch 32 --budget 400MiB --steps 3\n"
    "  plimsoll train --data photos --model resnet50 --budget 4GiB --checkpoints run\n"
    "  plimsoll train --resume run\n"
    "\n"
    "Ctrl-C finishes the step, writes a checkpoint, prints how to resume, and exits\n"
    "130. SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU do the same and exit 128 plus their\n"
    "number: 143 for SIGTERM. A second Ctrl-C stops at once. `plimsoll ctl PID\n"
    "--budget 2GiB` moves the limit of a running job.";

/// What a run measures, by name.
const std::vector<std::string> kMetrics = {"loss", "accuracy", "validation_loss",
                                           "validation_accuracy"};

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
  bool allow_nan = false;
  bool chart = false;
  bool quiet = false;
  int metrics_port = 0;
  bool serves_metrics = false;
  bool curve = false;
};

constexpr Json::error_handler_t kReplace = Json::error_handler_t::replace;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// What the system counts on a GPU at the end; on the CPU the RSS has more in it than the budget.
void print_use(const Device& device) {
  if (device.capabilities().host_memory) return;
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
          {"peak_limit", result.peak_limit},
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

/// Whether `folder` would be taken for a class of pictures: one that lies among the folders of the
/// classes, or is the folder that they are in.
bool is_class_folder(const std::string& folder, const TrainingData& data) {
  namespace fs = std::filesystem;
  if (data.class_folders.empty()) return false;
  std::error_code error;
  // Of a path that is not there yet and not absolute only the text would come back.
  fs::path here = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (!here.has_filename()) here = here.parent_path();
  const fs::path there = fs::weakly_canonical(data.class_folders, error);
  const bool hidden = here.filename().string().starts_with('.');
  return here == there || (here.parent_path() == there && !hidden);
}

/// Mistakes that would otherwise cost an epoch before they are found.
void check(const RunOptions& o, const TrainingData& data) {
  check_threads(o.threads);
  if (o.resume.empty() && !o.checkpoints.empty() && is_class_folder(o.checkpoints, data)) {
    throw InvalidArgument(
        fmt::format("--checkpoints {}: that is in the folder of the data, where it would be taken "
                    "for a class when the run is resumed; use a folder somewhere else",
                    printable(o.checkpoints)));
  }
  if (o.patience > 0 && !data.validation) {
    throw InvalidArgument(
        "--patience: it watches validation_loss, and there is no validation data; use a --data "
        "folder with train and val in it, or leave --patience out");
  }
  if (o.best.empty()) return;
  if (o.checkpoints.empty()) {
    throw InvalidArgument(
        "--best: there are no checkpoints to choose from; add --checkpoints FOLDER");
  }
  if (const std::string wrong = OneOf{kMetrics}(o.best); !wrong.empty()) {
    throw InvalidArgument("--best: " + wrong);
  }
  if (o.best.starts_with("validation_") && !data.validation) {
    throw InvalidArgument(
        fmt::format("--best {}: there is no validation data; use --best loss", o.best));
  }
}

/// How much was held, of what, and whether the plan was right.
void print_peaks(const train::FitResult& result, const Device& device) {
  fmt::print("planned peak {}, measured {}\n", format_bytes(result.planned_peak),
             result.measured_peak == result.planned_peak
                 ? "the same to the byte"
                 : fmt::format("{} ({} bytes {})", format_bytes(result.measured_peak),
                               format_count(std::abs(static_cast<std::int64_t>(
                                   result.measured_peak - result.planned_peak))),
                               result.measured_peak > result.planned_peak ? "more" : "less"));
  const Bytes limit = device.budget().limit();
  fmt::print("budget peak {} of {}{}\n", format_bytes(result.charged_peak),
             format_bytes(result.peak_limit),
             result.peak_limit == limit
                 ? ""
                 : fmt::format(", the limit at that time; it is {} now", format_bytes(limit)));
}

void print_result(const train::FitResult& result, const Device& device) {
  fmt::print("{} in {}\n", counted(result.steps, "step"), format_duration(result.seconds));
  print_peaks(result, device);
  if (result.measured_step_seconds > 0) {
    fmt::print(
        "step time {} predicted{}, {} fastest measured\n",
        format_duration(result.predicted_step_seconds),
        result.corrected_step_seconds > 0
            ? fmt::format(", {} from measured ops", format_duration(result.corrected_step_seconds))
            : "",
        format_duration(result.measured_step_seconds));
  }
  print_use(device);
}

/// The step time against the budget, for reports.
void log_curve(RunLog& log, const Prepared& prepared, const Device& device) {
  Json points = Json::array();
  for (const plan::CurvePoint& point : prepared.trainer->curve(prepared.request, device)) {
    points.push_back({{"budget", point.budget}, {"seconds", point.seconds}});
  }
  log.write("curve", {{"points", RunLog::Json{points.dump()}}});
}

/// How long finding the curve takes, about: nothing for steps of few tasks, 2 s for ResNet-18, 10 s
/// for ResNet-50.
double curve_seconds(const train::TrainingPlan& plan) {
  constexpr std::size_t kFew = 100;
  constexpr double kSecondsPerTask = 0.015;
  const std::size_t tasks = plan.phases.front().steps.front()->tasks.size();
  return tasks <= kFew ? 0 : kSecondsPerTask * static_cast<double>(tasks);
}

/// Sets `begun` when the training has.
void train_logged(Command& command, RunOptions& o, RunLog& log, bool& begun) {
  Prepared prepared = prepare(o, o.skip_errors);
  check(o, prepared.data);
  ModelShape shape = shape_of(prepared.trainer->model());
  shape.names = prepared.data.names;
  log.write("data", {{"summary", prepared.data.summary},
                     {"training", prepared.data.train_count},
                     {"validation", prepared.data.validation_count}});
  const std::optional<Device> host = host_of(o);
  prepared.request.host = host;
  const Opened opened = open_device(o, prepared);
  const Device& device = opened.device;
  const train::TrainingPlan plan = prepared.trainer->plan(prepared.request, device);
  // At once where nobody notices; else at the end, if that is at most a hundredth of the run.
  const bool curve_first = log.writes() && (o.curve || curve_seconds(plan) == 0);
  if (curve_first) log_curve(log, prepared, device);
  if (!o.json && !o.quiet) fmt::print("{}{}", prepared.data.summary, plan.explain());
  std::fflush(stdout);

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
  options.allow_nonfinite_loss = o.allow_nan;
  options.pipeline.threads = o.threads;
  options.pipeline.seed = o.seed;
  options.pipeline.skip_errors = o.skip_errors;
  options.host = host;
  options.log = &log;
  train::LimitRequests limits;
  options.limit_requests = &limits;
  options.stop = &Interrupt::asked();
  // In a folder of classes it would be one of them; hidden folders are not.
  if (!saves) {
    options.stop_checkpoints = fmt::format("plimsoll-run-{}", ::getpid());
    if (is_class_folder(options.stop_checkpoints, prepared.data)) {
      options.stop_checkpoints.insert(0, ".");
    }
  }
  options.callbacks.push_back({.on_begin = [&](train::Run&) { begun = true; }});
  if (saves) {
    // Only once the folder was found to be free, or this run's own.
    train::Callback remember;
    remember.on_begin = [&](train::Run&) {
      save_run(command, o.checkpoints, shape);
      if (log.writes()) save_log_path(o.checkpoints, log.path());
    };
    options.callbacks.push_back(remember);
  }
  if (!o.quiet) {
    options.callbacks.push_back(report::progress({.out = o.json ? stderr : stdout}));
  }
  if (o.chart) options.callbacks.push_back(report::chart(o.json ? stderr : stdout));
  std::optional<report::MetricsServer> metrics;
  if (o.serves_metrics) {
    metrics.emplace(o.metrics_port);
    options.callbacks.push_back(metrics->callback());
    if (!o.quiet) {
      fmt::print(stderr, "metrics: http://127.0.0.1:{}/metrics\n", metrics->port());
    }
  }
  const Interrupt interrupt;
  const train::ControlServer control(device, &limits);
  // As planned: a batch is never larger than the data.
  const train::PlanRequest& request = prepared.request;
  const data::Dataset training = prepared.data.train->batch(request.batch).prefetch();
  std::optional<data::Dataset> validation;
  if (prepared.data.validation) {
    validation = prepared.data.validation->batch(request.validation_batch);
  }
  const train::FitResult result = [&] {
    try {
      return prepared.trainer->fit(plan, training, validation, options);
    } catch (const Error&) {
      // Data that cannot be read, say: what was trained until then is kept.
      const std::string& folder = options.stop_checkpoints;
      std::error_code none;
      if (!saves && std::filesystem::exists(std::filesystem::path(folder) / "latest", none)) {
        save_run(command, folder, shape);
        fmt::print(stderr, "what was trained is in {}; resume with: plimsoll train --resume {}\n",
                   folder, folder);
      }
      throw;
    }
  }();

  if (log.writes() && !curve_first && curve_seconds(plan) < result.seconds / 100) {
    log_curve(log, prepared, device);
  }

  if (o.json) {
    fmt::print("{}\n",
               result_json(result, device).dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_result(result, device);
    if (!log.path().empty()) fmt::print("run log: {}\n", log.path());
    if (!result.stopped.empty() && result.stopped != "interrupted") {
      fmt::print("stopped early: {}\n", result.stopped);
    }
  }
  if (result.stopped == "interrupted") {
    std::fflush(stdout);
    // Elsewhere than it was told to, if that could not be written.
    const std::string folder = std::filesystem::path(result.checkpoint).parent_path().string();
    if (folder != o.checkpoints) save_run(command, folder, shape);
    fmt::print(stderr, "interrupted after step {}; resume with: plimsoll train --resume {}\n",
               format_count(result.steps), folder);
    throw EndWith{128 + Interrupt::signal()};
  }
}

void train_now(Command& command, RunOptions& o) {
  // A run does not end because the reader of its output does.
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (!o.resume.empty()) {
    if (!o.checkpoints.empty() && o.checkpoints != o.resume) {
      throw InvalidArgument(
          "--resume and --checkpoints name different folders; --resume FOLDER is enough");
    }
    if (!restore_run(command, o.resume)) {
      fmt::print(stderr,
                 "--resume {}: there is no run to resume; this one starts from the beginning\n",
                 printable(o.resume));
    }
    o.checkpoints = o.resume;
  }
  complete(o);
  RunLog log = o.log.empty() ? RunLog() : RunLog(o.log);
  log.begin({{"command", RunLog::Json{Json(command_line()).dump(-1, ' ', false, kReplace)}},
             {"options", RunLog::Json{given_options(command).dump(-1, ' ', false, kReplace)}},
             {"model", o.model},
             {"data", o.data}});
  bool begun = false;
  try {
    train_logged(command, o, log, begun);
  } catch (const Error& error) {
    // What went wrong later is in the log already.
    if (!begun) {
      std::vector<RunLog::NamedField> fields = {{"message", std::string(error.what())},
                                                {"exit_code", std::int64_t{error.exit_code()}}};
      if (const auto* const refused = dynamic_cast<const OutOfMemory*>(&error)) {
        fields.emplace_back("out_of_memory", RunLog::Json{refused->report().to_json()});
      }
      log.write("refused", fields);
    }
    throw;
  }
}

}  // namespace

void add_train(Command& app) {
  Command* const train =
      app.add_subcommand("train", "Train a model within a memory budget")->footer(kTrainFooter);
  const auto options = std::make_shared<RunOptions>();
  add_options(*train, *options);
  train->add_option("--checkpoints", options->checkpoints, "Write checkpoints to this folder")
      ->type_name("FOLDER");
  train
      ->add_option("--resume", options->resume,
                   "Resume from the latest checkpoint in this folder, and write new ones there")
      ->type_name("FOLDER");
  train
      ->add_option("--checkpoint-steps", options->checkpoint_steps,
                   "Write a checkpoint every N steps")
      ->check(is_count_or_zero)
      ->type_name("N");
  train
      ->add_option("--checkpoint-epochs", options->checkpoint_epochs,
                   "Write a checkpoint every N epochs; 0: never")
      ->check(is_count_or_zero)
      ->type_name("N")
      ->show_default();
  train
      ->add_option("--best", options->best,
                   "Keep the checkpoint that is best by this metric: validation_accuracy")
      ->type_name("METRIC");
  train
      ->add_option("--patience", options->patience,
                   "Stop after N epochs without a lower validation_loss")
      ->check(is_count_or_zero)
      ->type_name("N");
  train
      ->add_option("--choices", options->choices,
                   "Take the algorithms that `plimsoll tune` wrote to this file; on --resume those "
                   "of the checkpoint win")
      ->check(is_path)
      ->type_name("FILE");
  train->add_option("--log", options->log, "Write a run log to this file, as JSON lines")
      ->type_name("FILE");
  train->add_flag("--curve", options->curve,
                  "Compute the step time for a range of budgets, for the report; without it, only "
                  "where that is quick");
  train
      ->add_option("--threads", options->threads,
                   "Threads of the input pipeline; default: one per CPU")
      ->check(is_count)
      ->type_name("N");
  train
      ->add_option("--skip-errors", options->skip_errors,
                   "Skip up to N files per epoch that cannot be read; -1: any number")
      ->check(is_skip_count)
      ->type_name("N");
  train->add_flag("--allow-nan", options->allow_nan,
                  "Continue, with a warning, when the loss is NaN or infinite");
  train->add_flag("--chart", options->chart,
                  "Draw the loss and the memory in use when the run ends");
  train->add_flag("--quiet", options->quiet, "Print no plan and no progress");
  Option* const port =
      train
          ->add_option("--metrics-port", options->metrics_port,
                       "Serve metrics for Prometheus on this port of the loopback address; 0: any "
                       "free port")
          ->check(is_port)
          ->type_name("PORT");
  train->callback([train, options, port] {
    options->serves_metrics = port->given();
    train_now(*train, *options);
  });
}

}  // namespace plimsoll::tools
