#include "train/fit_loop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/plan/slow_tasks.h>

namespace plimsoll::train {
namespace {

const FitOptions& checked(const FitOptions& options, const TrainingPlan& plan,
                          const data::Dataset& train) {
  if (options.epochs < 0 || options.steps < 0 || (options.epochs == 0 && options.steps == 0)) {
    const bool none = options.epochs == 0 && options.steps == 0;
    throw InvalidArgument(
        none ? "[fit] neither epochs nor steps are given; give at least one of them: 'epochs' = 10"
             : fmt::format("[fit] epochs is {} and steps is {}; neither can be below 0",
                           options.epochs, options.steps));
  }
  if (options.steps == 0 && train.cardinality() == data::kInfinite) {
    throw InvalidArgument("[fit] the dataset never ends; give the number of steps");
  }
  if (train.cardinality() == 0) throw InvalidArgument("[fit] the dataset has no elements");
  if (options.measure_after < 0) {
    throw InvalidArgument(
        fmt::format("[fit] measure_after {}; give 0 or more", options.measure_after));
  }
  if (options.checkpoint_steps < 0 || options.checkpoint_epochs < 0) {
    throw InvalidArgument("[fit] the number of steps or epochs between checkpoints is 0 or more");
  }
  if (plan.phases.empty()) throw InvalidArgument("[fit] the plan is empty; make one with plan()");
  return options;
}

}  // namespace

FitLoop::FitLoop(Trainer& trainer, Trainer::Impl& impl, const TrainingPlan& plan,
                 const data::Dataset& train, const std::optional<data::Dataset>& validation,
                 const FitOptions& options)
    : trainer_(trainer),
      impl_(impl),
      options_(checked(options, plan, train)),
      log_(options.log != nullptr ? *options.log : no_log_),
      fit_log_(log_),
      memory_(impl.memory_for(plan)),
      runner_(impl, memory_),
      outputs_(output_sizes(plan.phases.front())),
      input_(plan, train, validation, options_),
      plan_(impl, memory_, runner_, state_, fit_log_),
      limits_(plan_, memory_, runner_, input_, state_, log_, options_.limit_requests),
      times_(plan_, runner_, state_, log_, options_.measure_after),
      metrics_(impl, memory_, options_, state_, input_.validates()),
      checkpoints_(impl, memory_, input_, state_, log_, options_),
      loss_watch_(impl, log_, options_.allow_nonfinite_loss),
      gate_(memory_.parent().budget().ledger(), options_.leak_gate),
      batches_(train.cardinality()) {
  prepare_overlap();
  input_.check(impl, memory_);
  metrics_.check();
  checkpoints_.open();
}

void FitLoop::prepare_overlap() {
  if (!options_.overlap.value_or(device().capabilities().asynchronous)) return;
  const auto do_without = [&] {  // then each step is waited for
    sheets_.reset();
    feeds_.reset();
  };
  try {
    sheets_.emplace(device(), input_.session().budget());
    feeds_.emplace(device(), input_.session().device());
    runner_.read_late(*sheets_, *feeds_);
  } catch (const OutOfMemory&) {
    do_without();
  } catch (const OutOfPages&) {
    do_without();
  }
  const bool may_overlap =
      std::all_of(options_.callbacks.begin(), options_.callbacks.end(),
                  [](const Callback& each) { return !each.on_step || each.numbers_only; });
  overlaps_ = sheets_ && may_overlap;
}

double FitLoop::seconds() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

std::int64_t FitLoop::total_steps() const {
  const std::int64_t by_epochs =
      options_.epochs > 0 && batches_ > 0 ? options_.epochs * batches_ : 0;
  if (options_.steps == 0) return by_epochs;
  return by_epochs == 0 ? options_.steps : std::min(options_.steps, by_epochs);
}

void FitLoop::call(std::function<void(Run&)> Callback::*which) {
  const LimitRelief::Between between(limits_.relief());
  for (const Callback& callback : options_.callbacks) {
    if (callback.*which) (callback.*which)(*this);
  }
}

void FitLoop::begin() {
  began_ = Clock::now();
  if (checkpoints_.resume()) {
    metrics_.restore();
    if (!state_.losses.empty()) loss_ = state_.losses.back();
    stop_without_improvement();
  }
  limits_.begin();
  gate_.begin();
  times_.begin();
  log_begin();
  log_slow();
  call(&Callback::on_begin);
  checkpoints_.check_callbacks();
}

void FitLoop::log_slow() {
  const TrainingPlan& plan = plan_.now();
  for (const plan::SlowTasks& slow : plan::slow_tasks(*plan.phases.front().steps.front())) {
    log_.write("slow", {{"op", slow.op},
                        {"tasks", std::int64_t{slow.count}},
                        {"seconds", slow.seconds},
                        {"reason", slow.reason},
                        {"remedy", slow.remedy}});
    log_warning("[fit] slow: " + slow.to_string());
  }
}

bool FitLoop::done() const {
  return !stopped_.empty() || (options_.steps > 0 && state_.step >= options_.steps) ||
         (options_.epochs > 0 && state_.epoch >= options_.epochs);
}

void FitLoop::train_all() {
  while (!done()) {
    if (must_settle()) {
      finish_step();
      continue;
    }
    limits_.serve();
    if (const std::string why = limits_.look(); !why.empty()) log_warning(why);
    if (times_.due(steps_here_)) times_.measure(device());
    const std::optional<data::Element> element = next_batch();
    if (element) {
      train_one(*element);
      if (running_ || state_.in_epoch != batches_) continue;
    } else {
      settle();
      if (done()) break;
      if (state_.in_epoch == 0) throw InvalidArgument("[fit] the dataset has no elements");
    }
    end_epoch();
  }
  finish_step();
}

std::optional<data::Element> FitLoop::next_batch() {
  try {
    const Clock::time_point begin = Clock::now();
    std::optional<data::Element> element = input_.train().next();
    waited_ = std::chrono::duration<double>(Clock::now() - begin).count();
    return element;
  } catch (const Error&) {
    settle();
    checkpoints_.write_before_error();
    throw;
  }
}

void FitLoop::finish_step() {
  if (!running_) return;
  settle();
  if (state_.in_epoch == batches_) end_epoch();
}

FitResult FitLoop::run() {
  try {
    begin();
    train_all();
  } catch (const std::exception& error) {
    settle_quietly();
    log_failure(error.what(), &error);
    throw;
  } catch (...) {
    settle_quietly();
    log_failure("something that is not a std::exception was thrown");
    throw;
  }
  if (checkpoints_.kept() || (interrupted_ && !options_.stop_checkpoints.empty())) {
    checkpoints_.write_last();
  }
  // Where it ends within an epoch, it says where it stands.
  if (state_.in_epoch > 0 && stopped_.empty()) metrics_.set(validate());
  call(&Callback::on_end);
  return result();
}

FitResult FitLoop::result() {
  FitResult result;
  result.losses = state_.losses;
  result.history = state_.history;
  if (state_.in_epoch > 0 && stopped_.empty()) result.history.push_back(metrics());
  result.steps = state_.step;
  result.epochs = state_.epoch;
  result.seconds = seconds();
  result.planned_peak = plan_.planned_peak();
  result.measured_peak = memory_.stats().live_peak;
  const FitLimits::Peak peak = limits_.peak();
  result.charged_peak = peak.charged;
  result.peak_limit = peak.limit;
  result.replans = limits_.replans();
  result.corrections = times_.corrections();
  result.predicted_step_seconds = times_.predicted();
  result.corrected_step_seconds = times_.corrected();
  result.measured_step_seconds = times_.measured();
  result.stopped = stopped_;
  result.checkpoint = checkpoints_.written();
  log_result(result);
  return result;
}

void FitLoop::train_one(const data::Element& element) {
  const std::int64_t count = element[0].shape().rank() == 0 ? 0 : element[0].shape().dim(0);
  const bool timed = times_.times_next() && count == batch();
  runner_.ready(element);  // before anything is counted
  const double own_rate = impl_.optimizer.rate();
  StepCount counted(impl_.optimizer, memory_.stream());
  Submitted next{.count = count,
                 .own_rate = own_rate,
                 .rate = impl_.optimizer.rate(),
                 .waited = waited_,
                 .first = steps_here_ == 0};
  const Clock::time_point begin = Clock::now();
  if (overlaps_) {
    next.timer = memory_.device().make_timer(memory_.stream());
    next.timer->mark();
  }
  next.numbers = runner_.train(element, counted.before(), timed);
  if (overlaps_) {
    next.timer->mark();
  } else {
    next.numbers.wait();
    next.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  counted.stands();
  ++steps_here_;
  std::optional<Submitted> before = std::exchange(running_, std::move(next));
  if (before) {
    note(*before);
    after_step();
  }
  if (!overlaps_ || timed) settle();
  if (timed) times_.timed();
}

bool FitLoop::must_settle() {
  if (!running_) return false;
  const std::int64_t step = state_.step + 1;
  return (options_.steps > 0 && step >= options_.steps) || state_.in_epoch + 1 == batches_ ||
         checkpoints_.due(step) || (options_.stop != nullptr && options_.stop->load()) ||
         limits_.wanted() || limits_.moved() || times_.due(steps_here_);
}

void FitLoop::settle() {
  if (!running_) return;
  Submitted done = std::move(*running_);
  running_.reset();
  note(done);
  after_step();
}

std::optional<float> FitLoop::accuracy_of(const StepRunner::Numbers& numbers,
                                          std::int64_t count) const {
  MetricSums sums;
  add(sums, outputs_, 1, numbers.metrics, count);
  const auto found = sums.find("accuracy");
  if (found == sums.end()) return std::nullopt;
  return static_cast<float>(metric_result("accuracy", found->second, count, impl_.options.metrics));
}

void FitLoop::note(Submitted& done) {
  const StepRunner::Numbers numbers = done.numbers.wait();
  loss_ = numbers.loss;
  accuracy_ = accuracy_of(numbers, done.count);
  rate_ = done.rate;
  try {
    if (done.timer != nullptr) done.seconds = done.timer->seconds().front();
  } catch (const DeviceError&) {  // a step after this one has failed; this one counts
  }
  // The first step makes its executors as well.
  if (done.count == batch() && !done.first && done.seconds) times_.note(*done.seconds);
  ++state_.step;
  ++state_.in_epoch;
  elements_ += done.count;
  state_.losses.push_back(loss_);
  state_.loss_sum += static_cast<double>(loss_) * static_cast<double>(done.count);
  state_.loss_count += done.count;
  add(state_.metric_sums, outputs_, 1, numbers.metrics, done.count);
  if (!log_.writes()) return;
  fit_log_.step({.step = state_.step,
                 .epoch = state_.epoch,
                 .loss = static_cast<double>(loss_),
                 .accuracy = accuracy_,
                 .rate = done.own_rate,
                 .seconds = done.seconds,
                 .waited = done.waited,
                 .elements = done.count,
                 .used = device().budget().used()});
  fit_log_.pipeline("train", input_.train(), false);
}

void FitLoop::after_step() {
  in_callback_ = true;
  call(&Callback::on_step);
  gate_.step(state_.step);
  in_callback_ = false;
  loss_watch_.look(state_.step, loss_, checkpoints_.written());
  interrupted_ = options_.stop != nullptr && options_.stop->load();
  if (interrupted_) stopped_ = "interrupted";
  if (checkpoints_.due(state_.step)) checkpoints_.write(false);
}

void FitLoop::settle_quietly() noexcept {
  try {
    if (!in_callback_) {
      settle();
    } else if (running_) {  // who ended the run is not asked again
      note(*running_);
    }
  } catch (...) {  // the first one is what happened
  }
  running_.reset();
}

}  // namespace plimsoll::train
