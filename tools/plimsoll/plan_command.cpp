#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/plan/device_description.h>
#include <plimsoll/plan/timeline.h>
#include <plimsoll/report/html.h>

#include "command_line.h"
#include "commands.h"
#include "run_file.h"
#include "train_options.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlanFooter =
    "Examples:\n"
    "  plimsoll plan --model resnet18 --size 64 --batch 32 --budget 300MiB\n"
    "  plimsoll plan --model gpt2_tiny --batch 8 --device h200 --curve\n"
    "\n"
    "--device also takes a GPU that this machine does not have (h200, a100, l4, ...)\n"
    "or a JSON file that describes one. If training does not fit, the exit code is 3\n"
    "and the message names a budget and a batch size that do.";

struct PlanCommand : TrainOptions {
  bool curve = false;
  std::string html;
};

using Curve = std::vector<plan::CurvePoint>;

Json points_of(const Curve& curve) {
  Json points = Json::array();
  for (const plan::CurvePoint& point : curve) {
    points.push_back({{"budget", point.budget}, {"seconds", point.seconds}});
  }
  return points;
}

/// A plan is drawn as a run that has not begun.
report::Run as_run(const TrainOptions& o, const train::TrainingPlan& plan, const Curve& curve) {
  report::Run run;
  run.name = fmt::format("{}, batch {}", o.model, plan.batch());
  run.state = report::RunState::planned;
  run.about = Json{
      {"event", "run"},
      {"plimsoll", version()},
      {"command", command_line()},
      {"model", o.model},
      {"data",
       o.data}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  run.curve = points_of(curve).dump();
  run.begin =
      Json{{"device", plan.device.name}, {"batch", plan.batch()}, {"parts", plan.parts()}}.dump(
          -1, ' ', false, Json::error_handler_t::replace);
  run.end = "null";
  run.ending = plan.explain();
  run.options["seed"] = std::to_string(o.seed);
  run.plans.push_back(
      {.json = plan.to_json(),
       .timeline = plan::to_json(plan::timeline_of(*plan.phases.front().steps.front()))});
  return run;
}

void print_curve(const Curve& curve) {
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
  const bool draws = !o.html.empty();
  // What does not fit is refused before anything is printed.
  std::optional<train::TrainingPlan> plan;
  if (draws || !o.curve) {
    plan = opened ? prepared.trainer->plan(prepared.request, opened->device)
                  : prepared.trainer->plan(prepared.request, description);
  }
  Curve curve;
  if (draws || o.curve) {
    curve = opened ? prepared.trainer->curve(prepared.request, opened->device)
                   : prepared.trainer->curve(prepared.request, description);
  }
  if (o.json) {
    fmt::print("{}\n", o.curve ? Json{{"curve", points_of(curve)}}.dump() : plan->to_json());
  } else if (o.curve) {
    print_curve(curve);
  } else {
    fmt::print("{}{}", prepared.data.summary, plan->explain());
  }
  if (!draws) return;
  report::write_html(as_run(o, *plan, curve), o.html);
  fmt::print(o.json ? stderr : stdout, "report: {}\n", o.html);
}

}  // namespace

void add_plan(Command& app) {
  Command* const plan =
      app.add_subcommand("plan", "Show the memory that training would need")->footer(kPlanFooter);
  const auto options = std::make_shared<PlanCommand>();
  add_options(*plan, *options);
  plan->add_flag("--curve", options->curve, "Print how the step time grows as the budget shrinks");
  plan->add_option("--html", options->html, "Draw the plan and its curve as a page")
      ->type_name("FILE");
  plan->callback([options] { plan_now(*options); });
}

}  // namespace plimsoll::tools
