// What ends an epoch of a fit: metrics, validation, early stopping.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "train/fit_loop.h"

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

void FitLoop::stop_if_without_improvement() {
  const EarlyStopping& early = options_.early_stopping;
  if (early.patience > 0 && state_.without >= early.patience) {
    stop(fmt::format("{} has not improved for {} epochs", early.metric, early.patience));
  }
}

Metrics FitLoop::validate() {
  Metrics all;
  if (!validation_) return all;
  const Clock::time_point begin = Clock::now();
  fit_log_.sample();
  train_.pause();
  if (validated_) validation_->rewind();
  Metrics sums;
  std::int64_t count = 0;
  const auto next = [&] {
    if (relief_->wanted() || limit_wanted()) {
      runner_.end_evaluation(sums);  // a new plan has other executors
      relief_->serve();
      serve_limit_requests();
    }
    try {
      return validation_->next();
    } catch (const Error&) {
      save_before_error();
      throw;
    }
  };
  while (const auto element = next()) count += runner_.evaluate(*element, sums);
  runner_.end_evaluation(sums);
  validated_ = true;
  validation_->pause();
  if (count == 0) throw InvalidArgument("[fit] the validation dataset has no elements");
  for (const auto& [name, value] : means(sums, count, impl_.options.metrics))
    all["validation_" + name] = value;
  log().write("validation",
              {{"step", state_.step},
               {"elements", count},
               {"seconds", std::chrono::duration<double>(Clock::now() - begin).count()}});
  return all;
}

std::vector<std::string> FitLoop::metric_names() const {
  std::vector<std::string> names = {"loss"};
  if (has_accuracy_) names.emplace_back("accuracy");
  if (!validation_) return names;
  const std::vector<Phase>& phases = memory_.plan().phases;
  const auto planned = std::ranges::find(phases, Phase::Kind::validation, &Phase::kind);
  const std::vector<std::string> outputs =
      planned != phases.end() ? planned->outputs
                              : trace_evaluation(impl_.minimised(), impl_.options.precision,
                                                 device().kind(), impl_.batch(batch()))
                                    .outputs;
  for (const std::string& name : outputs) {
    const std::string whole = name.substr(0, name.find('#'));
    if (names.back() != "validation_" + whole) names.push_back("validation_" + whole);
  }
  return names;
}

void FitLoop::check_metrics() const {
  const EarlyStopping& early = options_.early_stopping;
  if (options_.best.empty() && early.patience == 0) return;
  const std::vector<std::string> names = metric_names();
  const auto check = [&](const char* what, const std::string& metric) {
    if (std::ranges::find(names, metric) != names.end()) return;
    const bool lacks = !validation_ && metric.starts_with("validation_");
    throw InvalidArgument(
        fmt::format("[fit] {} goes by '{}', {}; there will be {}", what, metric,
                    lacks ? "but there is no validation data" : "which is no metric of this run",
                    fmt::join(names, ", ")));
  };
  if (!options_.best.empty()) check("the best checkpoint", options_.best);
  if (early.patience > 0) check("early stopping", early.metric);
}

void FitLoop::add_training_metrics() {
  const auto count = static_cast<double>(state_.loss_count);
  metrics_["loss"] = state_.loss_sum / count;
  if (has_accuracy_) metrics_["accuracy"] = state_.accuracy_sum / count;
}

bool FitLoop::improves(const std::string& metric, std::optional<double>& best,
                       double min_delta) const {
  const double value = metrics_.at(metric);
  if (std::isnan(value)) return false;
  const bool better =
      !best || (higher_is_better(metric, impl_.options.metrics) ? value > *best + min_delta
                                                                : value < *best - min_delta);
  if (better) best = value;
  return better;
}

/// What the pipeline left out in the epoch that ends, for the run log: the first ten and a count.
void FitLoop::note_skipped() {
  constexpr std::int64_t kNamed = 10;
  const std::int64_t count = train_.skipped_count() - skipped_;
  if (count == 0) return;
  skipped_ += count;
  std::int64_t named = 0;
  for (const data::SkippedElement& each : train_.skipped()) {
    if (static_cast<std::int64_t>(each.epoch) + 1 != state_.epoch || named++ >= kNamed) continue;
    log().write("skipped", {{"epoch", state_.epoch}, {"message", each.message}});
  }
  log().write("skipped_count", {{"epoch", state_.epoch}, {"count", count}});
}

void FitLoop::end_epoch() {
  metrics_ = validate();
  add_training_metrics();
  ++state_.epoch;
  state_.in_epoch = 0;
  state_.loss_sum = state_.accuracy_sum = 0;
  state_.loss_count = 0;
  state_.history.push_back(metrics_);
  note_skipped();
  train_.rewind();
  const std::optional<double> best_before = state_.best;
  const bool best = !options_.best.empty() && improves(options_.best, state_.best, 0);
  const EarlyStopping& early = options_.early_stopping;
  if (early.patience > 0) {
    state_.without = improves(early.metric, state_.least, early.min_delta) ? 0 : state_.without + 1;
    stop_if_without_improvement();
  }
  for (const auto& [name, value] : metrics_) {
    log().write("metric", {{"epoch", state_.epoch}, {"name", name}, {"value", value}});
  }
  log().write("epoch", {{"epoch", state_.epoch}, {"step", state_.step}});
  fit_log_.pipeline("train", train_, state_.epoch == 1);
  call(&Callback::on_epoch);
  gate_.epoch(state_.epoch);
  const bool due = options_.checkpoint_epochs > 0 && state_.epoch % options_.checkpoint_epochs == 0;
  // A best one that could not be written is not one to be better than.
  if (checkpoints_ && (due || best) && !try_checkpoint(best) && best) state_.best = best_before;
}

}  // namespace plimsoll::train
