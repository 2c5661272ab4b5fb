// What ends an epoch of a fit: validation, early stopping, checkpoints.

#include <plimsoll/base/error.h>

#include "train/fit_loop.h"

namespace plimsoll::train {

void FitLoop::stop_without_improvement() {
  if (const std::string why = metrics_.out_of_patience(); !why.empty()) stop(why);
}

Metrics FitLoop::validate() {
  Metrics all;
  if (!input_.validates()) return all;
  const Clock::time_point begin = Clock::now();
  fit_log_.sample();
  data::Pipeline& validation = input_.begin_validation();
  MetricSums sums;
  std::int64_t count = 0;
  const auto next = [&] {
    if (limits_.wanted()) {
      runner_.end_evaluation(sums);  // a new plan has other executors
      limits_.serve();
    }
    try {
      return validation.next();
    } catch (const Error&) {
      checkpoints_.write_before_error();
      throw;
    }
  };
  while (const auto element = next()) count += runner_.evaluate(*element, sums);
  runner_.end_evaluation(sums);
  input_.end_validation();
  if (count == 0) throw InvalidArgument("[fit] the validation dataset has no elements");
  for (const auto& [name, value] : results(sums, count, impl_.options.metrics))
    all["validation_" + name] = value;
  log_.write("validation",
             {{"step", state_.step},
              {"elements", count},
              {"seconds", std::chrono::duration<double>(Clock::now() - begin).count()}});
  return all;
}

void FitLoop::end_epoch() {
  metrics_.set(validate());
  ++state_.epoch;
  state_.in_epoch = 0;
  state_.loss_sum = 0;
  state_.metric_sums.clear();
  state_.loss_count = 0;
  state_.history.push_back(metrics());
  input_.log_skipped(state_.epoch, log_);
  input_.train().rewind();
  const std::optional<double> best_before = state_.best;
  const bool best = metrics_.improves_best();
  metrics_.count_patience();
  stop_without_improvement();
  for (const auto& [name, value] : metrics()) {
    log_.write("metric", {{"epoch", state_.epoch}, {"name", name}, {"value", value}});
  }
  log_.write("epoch", {{"epoch", state_.epoch}, {"step", state_.step}});
  fit_log_.pipeline("train", input_.train(), state_.epoch == 1);
  call(&Callback::on_epoch);
  gate_.epoch(state_.epoch);
  const bool due = options_.checkpoint_epochs > 0 && state_.epoch % options_.checkpoint_epochs == 0;
  // A best one that could not be written is not one to be better than.
  if (checkpoints_.kept() && (due || best) && !checkpoints_.write(best) && best) {
    state_.best = best_before;
  }
}

}  // namespace plimsoll::train
