#include "train/fit_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {
namespace {

bool higher_is_better(const std::string& metric, const std::vector<Metric>& metrics) {
  for (const Metric& known : metrics) {
    if (metric == known.name() || metric == "validation_" + known.name()) {
      return known.higher_is_better();
    }
  }
  return metric.ends_with("accuracy");
}

}  // namespace

std::vector<std::string> FitMetrics::names() const {
  std::vector<std::string> names = {"loss"};
  const TrainingPlan& plan = memory_.plan();
  const std::vector<std::string>& steps = plan.phases.front().outputs;
  names.insert(names.end(), steps.begin() + 1, steps.end());
  if (!validates_) return names;
  const auto planned = std::ranges::find(plan.phases, Phase::Kind::validation, &Phase::kind);
  const std::vector<std::string> outputs =
      planned != plan.phases.end() ? planned->outputs
                                   : trace_evaluation(impl_.minimised(), impl_.options.precision,
                                                      memory_.parent().capabilities().channels_last,
                                                      impl_.batch(plan.batch()))
                                         .outputs;
  for (const std::string& name : outputs) names.push_back("validation_" + name);
  return names;
}

void FitMetrics::check() const {
  const EarlyStopping& early = options_.early_stopping;
  if (options_.best.empty() && early.patience == 0) return;
  const std::vector<std::string> known = names();
  const auto check = [&](const char* what, const std::string& metric) {
    if (std::ranges::find(known, metric) != known.end()) return;
    const bool lacks = !validates_ && metric.starts_with("validation_");
    throw InvalidArgument(
        fmt::format("[fit] {} goes by '{}', {}; there will be {}", what, metric,
                    lacks ? "but there is no validation data" : "which is not a metric of this run",
                    fmt::join(known, ", ")));
  };
  if (!options_.best.empty()) check("the best checkpoint", options_.best);
  if (early.patience > 0) check("early stopping", early.metric);
}

void FitMetrics::set(Metrics validation) {
  all_ = std::move(validation);
  all_.merge(results(state_.metric_sums, state_.loss_count, impl_.options.metrics));
  all_["loss"] = state_.loss_sum / static_cast<double>(state_.loss_count);
}

void FitMetrics::restore() {
  if (!state_.history.empty()) all_ = state_.history.back();
}

bool FitMetrics::improves(const std::string& metric, std::optional<double>& best,
                          double min_delta) const {
  const double value = all_.at(metric);
  if (std::isnan(value)) return false;
  const bool better =
      !best || (higher_is_better(metric, impl_.options.metrics) ? value > *best + min_delta
                                                                : value < *best - min_delta);
  if (better) best = value;
  return better;
}

bool FitMetrics::improves_best() {
  return !options_.best.empty() && improves(options_.best, state_.best, 0);
}

void FitMetrics::count_patience() {
  const EarlyStopping& early = options_.early_stopping;
  if (early.patience <= 0) return;
  state_.without = improves(early.metric, state_.least, early.min_delta) ? 0 : state_.without + 1;
}

std::string FitMetrics::out_of_patience() const {
  const EarlyStopping& early = options_.early_stopping;
  if (early.patience <= 0 || state_.without < early.patience) return {};
  return fmt::format("{} has not improved for {} epochs", early.metric, early.patience);
}

}  // namespace plimsoll::train
