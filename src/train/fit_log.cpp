#include "train/fit_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include <plimsoll/plan/generated_kernels.h>
#include <plimsoll/plan/timeline.h>

namespace plimsoll::train {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Longest that a step waits to be written with others, in seconds.
constexpr double kLongestWait = 0.9;
/// Plans that are written whole; later ones, of a limit that moves for ever, in figures alone.
constexpr std::int64_t kWholePlans = 24;
constexpr double kLongestPipelinePause = 600;

RunLog::Json raw(const OrderedJson& json) {
  return {json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)};
}

}  // namespace

void FitLog::watch(std::vector<Device> devices) { memory_.emplace(log_, std::move(devices)); }

void FitLog::sample() {
  if (memory_) memory_->sample();
}

void FitLog::finish() {
  flush();
  memory_.reset();
}

void FitLog::step(const Step& step) {
  if (!log_.writes()) return;
  const double now = log_.seconds();
  if (count_ == 0) {
    loss_least_ = loss_most_ = step.loss;
    since_ = now;
  }
  last_ = step;
  ++count_;
  loss_sum_ += step.loss;
  // One that is not a number shows in the mean.
  loss_least_ = std::fmin(loss_least_, step.loss);
  loss_most_ = std::fmax(loss_most_, step.loss);
  accuracy_sum_ += step.accuracy.value_or(0);
  rate_sum_ += step.rate;
  seconds_sum_ += step.seconds.value_or(0);
  waited_sum_ += step.waited;
  elements_sum_ += step.elements;
  used_most_ = std::max(used_most_, step.used);
  if (count_ >= stride_ || now - since_ > kLongestWait) flush();
}

void FitLog::flush() {
  if (count_ == 0) return;
  const auto count = static_cast<double>(count_);
  std::vector<RunLog::NamedField> fields = {{"step", last_.step}};
  if (count_ > 1) fields.emplace_back("steps", count_);
  fields.emplace_back("loss", loss_sum_ / count);
  if (count_ > 1) {
    fields.emplace_back("loss_min", loss_least_);
    fields.emplace_back("loss_max", loss_most_);
  }
  if (last_.accuracy) fields.emplace_back("accuracy", accuracy_sum_ / count);
  fields.emplace_back("used", used_most_);
  fields.emplace_back("lr", rate_sum_ / count);
  if (last_.seconds) fields.emplace_back("seconds", seconds_sum_ / count);
  fields.emplace_back("waited", waited_sum_ / count);
  fields.emplace_back("elements", elements_sum_);
  fields.emplace_back("epoch", last_.epoch);
  log_.write("step", fields);
  count_ = elements_sum_ = 0;
  loss_sum_ = accuracy_sum_ = rate_sum_ = seconds_sum_ = waited_sum_ = 0;
  used_most_ = 0;
  if (--lines_left_ > 0) return;
  lines_left_ = kLinesPerStride;
  stride_ *= 2;
}

void FitLog::plan(const TrainingPlan& plan, const std::string& why, std::int64_t step) {
  if (!log_.writes()) return;
  const bool whole = plans_++ < kWholePlans && plan.phases.front().steps.front()->graph != nullptr;
  log_.write("plan",
             {{"why", why},
              {"step", step},
              {"plan", RunLog::Json{plan.to_json()}},
              {"timeline",
               RunLog::Json{whole ? to_json(plan::timeline_of(*plan.phases.front().steps.front()))
                                  : "null"}}});
}

void FitLog::op_times(const TrainingPlan& plan, std::span<const double> node_seconds) {
  if (!log_.writes()) return;
  OrderedJson seconds = OrderedJson::array();
  for (const double each : plan::task_seconds(*plan.phases.front().steps.front(), node_seconds)) {
    seconds.push_back(each > 0 ? OrderedJson(each) : OrderedJson());
  }
  log_.write("op_times", {{"seconds", raw(seconds)}});
}

void FitLog::pipeline(const std::string& name, const data::Pipeline& pipeline, bool always) {
  if (!log_.writes()) return;
  const double now = log_.seconds();
  if (!always) {
    if (now - pipeline_written_ < pipeline_pause_) return;
    pipeline_written_ = now;
    pipeline_pause_ = std::min(pipeline_pause_ * 1.2, kLongestPipelinePause);
  }
  OrderedJson stages = OrderedJson::array();
  for (const data::StageStats& each : pipeline.stats()) {
    stages.push_back({{"stage", each.stage},
                      {"depth", each.depth},
                      {"elements", each.elements},
                      {"bytes", each.bytes},
                      {"busy", each.busy_s},
                      {"wait_input", each.wait_input_s},
                      {"wait_room", each.wait_room_s},
                      {"wait_memory", each.wait_memory_s},
                      {"held", each.held},
                      {"setting", each.setting}});
  }
  OrderedJson bottleneck;
  if (const auto found = pipeline.bottleneck()) {
    bottleneck = {{"stage", found->stage}, {"remedy", found->remedy}, {"share", found->share}};
  }
  const Budget budget = pipeline.budget();
  log_.write("pipeline", {{"name", name},
                          {"used", budget.used()},
                          {"peak", budget.peak()},
                          {"skipped", pipeline.skipped_count()},
                          {"stages", raw(stages)},
                          {"bottleneck", raw(bottleneck)}});
}

}  // namespace plimsoll::train
