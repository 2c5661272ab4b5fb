#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/plan/device_description.h>

#include "commands.h"
#include "train_options.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFooter =
    "Examples:\n"
    "  plimsoll plan --model resnet18 --size 64 --batch 32 --budget 300MiB\n"
    "  plimsoll plan --model gpt2_tiny --batch 8 --device h200 --curve\n"
    "\n"
    "--device also takes a GPU that this machine does not have (h200, a100, l4, ...)\n"
    "or a JSON file that describes one. If training does not fit, the exit code is 3\n"
    "and the message names a budget and a batch size that do.";

struct PlanCommand : TrainOptions {
  bool curve = false;
};

void plan_now(PlanCommand& o) {
  complete(o);
  Prepared prepared = prepare(o);
  prepared.request.budget = budget_of(o);
  std::optional<Opened> opened;
  if (backend_of(o.device) != nullptr) {
    prepared.request.host = host_of(o);
    opened.emplace(open_device(o, prepared));
  }
  const plan::DeviceDescription description =
      opened ? plan::describe_device(opened->device) : plan::describe_device(o.device);
  if (!o.curve) {
    const train::TrainingPlan plan = opened
                                         ? prepared.trainer->plan(prepared.request, opened->device)
                                         : prepared.trainer->plan(prepared.request, description);
    if (o.json) {
      fmt::print("{}\n", plan.to_json());
    } else {
      fmt::print("{}{}", prepared.data.summary, plan.explain());
    }
    return;
  }
  const auto curve = opened ? prepared.trainer->curve(prepared.request, opened->device)
                            : prepared.trainer->curve(prepared.request, description);
  if (o.json) {
    Json list = Json::array();
    for (const plan::CurvePoint& point : curve) {
      list.push_back({{"budget", point.budget}, {"seconds", point.seconds}});
    }
    fmt::print("{}\n", Json{{"curve", list}}.dump());
    return;
  }
  fmt::print("{:>12}  {:>12}  {}\n", "budget", "step time", "slowdown");
  const double fastest = curve.front().seconds;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const plan::CurvePoint& point = curve[i];
    // A larger budget that saves no time is not worth a line.
    if (i + 1 < curve.size() && curve[i + 1].seconds <= point.seconds * 1.001) continue;
    fmt::print("{:>12}  {:>12}  {:.2f}x\n", format_bytes(point.budget),
               format_duration(point.seconds), fastest > 0 ? point.seconds / fastest : 1.0);
  }
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* const plan =
      app.add_subcommand("plan", "Say what training would take, without taking it")
          ->footer(kFooter);
  const auto options = std::make_shared<PlanCommand>();
  add_options(*plan, *options);
  plan->add_flag("--curve", options->curve, "Print how the step time grows as the budget shrinks");
  plan->callback([options] { plan_now(*options); });
}

}  // namespace plimsoll::tools
