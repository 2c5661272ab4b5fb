// Training steps of a whole model on one device: time, planned and measured memory. The batch lies
// on the device already. bench/train.sh runs it beside PyTorch.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/plan/timeline.h>
#include <plimsoll/train/trainer.h>

#include "support/driver_peak.h"
#include "zoo_batches.h"
#include "zoo_models.h"

namespace {

using namespace plimsoll;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "gpt2";
  std::string device = "cuda:0";
  std::string precision = "bf16";
  std::string optimizer = "adamw";
  std::string budget;
  std::string offload;
  std::int64_t batch = 16;
  std::int64_t classes = 1000;
  int warm = 5;
  int steps = 15;
  bool profile = false;
  bool tiny = false;
};

nn::Model model_of(const std::string& name, bool tiny) {
  if (const auto model = bench::text_model(name, tiny)) return *model;
  if (tiny) throw InvalidArgument(fmt::format("--tiny: {} has no tiny size", name));
  if (name == "gpt2") return nn::gpt2({.dropout = 0});
  if (const auto model = bench::zoo_model(name)) return *model;
  return nn::make_model(name, {.channels_last = true});
}

optim::Optimizer optimizer_of(const std::string& name) {
  if (name == "adamw") return optim::adamw({.lr = 1e-3, .weight_decay = 0.01});
  if (name == "sgd") return optim::sgd({.lr = 0.1, .momentum = 0.9});
  if (name == "sgd_plain") return optim::sgd({.lr = 0.1});
  throw InvalidArgument(fmt::format("--optimizer {}: use adamw, sgd or sgd_plain", name));
}

void print_profile(const train::TrainingPlan& plan, const std::vector<double>& seconds) {
  struct Sum {
    int count = 0;
    double seconds = 0;
    double predicted = 0;
  };
  std::map<std::string, Sum> by_op;
  const plan::Plan& step = *plan.phases.front().steps.front();
  const plan::Timeline timeline = plan::timeline_of(step);
  double total = 0;
  for (std::size_t t = 0; t < seconds.size(); ++t) {
    const graph::Node& node = step.graph->node(step.tasks[t].node);
    std::string types;
    for (const graph::ValueId v : node.inputs) {
      types += " " + step.graph->value(v).type.to_string();
    }
    for (const std::string& key :
         {std::string(node.op->name), fmt::format("  {}{}", node.op->name, types)}) {
      ++by_op[key].count;
      by_op[key].seconds += seconds[t];
      by_op[key].predicted += timeline.tasks[t].seconds;
    }
    total += seconds[t];
  }
  std::vector<std::pair<std::string, Sum>> sorted(by_op.begin(), by_op.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  fmt::print("{} tasks, {:.2f} ms with a wait after each\n", seconds.size(), total * 1e3);
  for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 120); ++i) {
    const auto& [name, sum] = sorted[i];
    fmt::print("{:8.3f} ms (predicted {:8.3f}) {:5} x {:8.1f} us  {}\n", sum.seconds * 1e3,
               sum.predicted * 1e3, sum.count, sum.seconds / sum.count * 1e6, name);
  }
}

int run(const Options& o) {
  const auto began = Clock::now();
  const Device device = Device::open(
      o.device, {.limit = o.budget.empty() ? Limit() : Limit::parse(o.budget, "--budget")});
  train::Trainer trainer(model_of(o.model, o.tiny), optimizer_of(o.optimizer),
                         {.precision = train::Precision::parse(o.precision)});
  // The batch is the caller's, beside the plan's copy of it.
  const nn::Model& model = trainer.model();
  const auto [x, y] =
      bench::batch_for(o.model, model, o.batch, o.tiny ? 100 : o.classes, o.tiny, device);
  const auto opened = Clock::now();
  train::PlanRequest request{.batch = o.batch};
  if (!o.offload.empty()) {
    request.offload = parse_bytes(o.offload, "--offload");
    request.host = Device::open("cpu:0");
  }
  const train::TrainingPlan plan = trainer.plan(request, device);
  const auto planned = Clock::now();

  test::DriverPeak watch(device);
  trainer.step(plan, x, y);
  (void)trainer.loss();
  const auto ready = Clock::now();  // the first step has been taken, and all it needs was made
  for (int i = 1; i < o.warm; ++i) trainer.step(plan, x, y);
  const float first_loss = trainer.loss();
  std::vector<double> ms;
  for (int i = 0; i < o.steps; ++i) {
    const auto before = Clock::now();
    trainer.step(plan, x, y);
    (void)trainer.loss();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }
  // Many at once, waiting only at the end.
  const auto before = Clock::now();
  for (int i = 0; i < o.steps; ++i) trainer.step(plan, x, y);
  const float loss = trainer.loss();
  const double streamed =
      std::chrono::duration<double, std::milli>(Clock::now() - before).count() / o.steps;
  const Bytes driver = watch.stop();
  if (o.profile) print_profile(plan, trainer.step_timed(plan, x, y));
  std::sort(ms.begin(), ms.end());
  const auto mib = [](Bytes bytes) {
    return static_cast<double>(bytes) / static_cast<double>(MiB(1));
  };
  const auto seconds = [](auto a, auto b) { return std::chrono::duration<double>(b - a).count(); };
  fmt::print("{}\n", nlohmann::json({{"model", o.model},
                                     {"batch", o.batch},
                                     {"precision", o.precision},
                                     {"ms", ms[ms.size() / 2]},
                                     {"ms_streamed", streamed},
                                     {"planned_ms", plan.phases.front().seconds() * 1e3},
                                     {"peak_mib", mib(device.budget().peak() - device.runtime())},
                                     {"planned_peak_mib", mib(plan.planned_peak())},
                                     {"pinned_mib", mib(plan.pinned())},
                                     {"charged_mib", mib(plan.charged)},
                                     {"runtime_mib", mib(device.runtime())},
                                     {"total_mib", mib(plan.total())},
                                     {"driver_mib", mib(driver)},
                                     {"usage", usage_name(device.use().source)},
                                     {"open_s", seconds(began, opened)},
                                     {"plan_s", seconds(opened, planned)},
                                     {"ready_s", seconds(began, ready)},
                                     {"tasks", plan.phases.front().steps.front()->tasks.size()},
                                     {"parts", plan.parts()},
                                     {"first_loss", first_loss},
                                     {"loss", loss}})
                         .dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Training steps of a whole model on one device"};
  app.add_option("--model", o.model)->capture_default_str();
  app.add_option("--device", o.device)->capture_default_str();
  app.add_option("--precision", o.precision)->capture_default_str();
  app.add_option("--optimizer", o.optimizer)->capture_default_str();
  app.add_option("--budget", o.budget, "Everything on the device; all of it if not given");
  app.add_option("--offload", o.offload, "Pinned host memory that the step may use");
  app.add_option("--batch", o.batch)->capture_default_str();
  app.add_option("--classes", o.classes, "Labels and ids are below it")->capture_default_str();
  app.add_option("--warm", o.warm)->capture_default_str();
  app.add_option("--steps", o.steps)->capture_default_str();
  app.add_flag("--tiny", o.tiny, "bert, llama, lstm_lm and dlrm in a size to try them out");
  app.add_flag("--profile", o.profile, "Also the time of each op, from a step that waits for it");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const BudgetTooSmall& error) {
    std::cerr << error.what() << '\n';
    return 3;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
