#include "train/fit_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/plan/slow_tasks.h>

namespace plimsoll::train {
namespace {

data::PipelineOptions named(data::PipelineOptions options, const char* name) {
  options.name = name;
  options.limit = kUnlimited;         // the session's holds
  options.save_before_errors = true;  // a run that ends with one reads the element again
  return options;
}

const FitOptions& checked(const FitOptions& options, const TrainingPlan& plan,
                          const data::Dataset& train) {
  if (options.epochs < 0 || options.steps < 0 || (options.epochs == 0 && options.steps == 0)) {
    throw InvalidArgument(fmt::format("[fit] {} epochs, {} steps: give at least one of them",
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
    throw InvalidArgument("[fit] checkpoints every so many steps or epochs: give 0 or more");
  }
  if (plan.phases.empty()) throw InvalidArgument("[fit] the plan is empty; make one with plan()");
  return options;
}

/// Steps in a row without a finite loss that a loss scale may answer for: after as many it is at
/// its smallest.
constexpr std::int64_t kSkippedInARow = 50;

}  // namespace

FitLoop::FitLoop(Trainer& trainer, Trainer::Impl& impl, const TrainingPlan& plan,
                 const data::Dataset& train, const std::optional<data::Dataset>& validation,
                 const FitOptions& options)
    : trainer_(trainer),
      impl_(impl),
      options_(checked(options, plan, train)),
      memory_(impl.memory_for(plan)),
      runner_(impl, memory_),
      input_(input_session(plan, options.host)),
      train_(train, input_.device(), named(options.pipeline, "train")),
      batches_(train.cardinality()),
      gate_(memory_.parent().budget().ledger(), options.leak_gate),
      fit_log_(options.log != nullptr ? *options.log : no_log_) {
  if (validation) {
    validation_.emplace(*validation, input_.device(), named(options.pipeline, "validation"));
    validation_->pause();
  }
  const bool may_overlap =
      std::all_of(options.callbacks.begin(), options.callbacks.end(),
                  [](const Callback& each) { return !each.on_step || each.numbers_only; });
  if (options.overlap.value_or(device().kind() != DeviceKind::cpu)) {
    const auto do_without = [&] {  // then each step is waited for
      sheets_.reset();
      feeds_.reset();
    };
    try {
      sheets_.emplace(device(), input_.budget());
      feeds_.emplace(device(), input_.device());
      runner_.read_late(*sheets_, *feeds_);
    } catch (const OutOfMemory&) {
      do_without();
    } catch (const OutOfPages&) {
      do_without();
    }
  }
  overlaps_ = sheets_ && may_overlap;
  if (validation) data::require_disjoint(train, *validation);
  check_decoding(train);
  if (validation) check_decoding(*validation);
  has_accuracy_ = plan.phases.front().outputs.size() > 1;
  check_metrics();
  if (!options.checkpoints.empty()) {
    checkpoints_.emplace(options.checkpoints, options.checkpoints_kept);
    train_.save();  // refuses a pipeline that cannot be saved before anything is trained
    if (!options.resume && !checkpoints_->latest().empty()) {
      throw InvalidArgument(
          fmt::format("[fit] {} has the checkpoints of a run; resume it, or give another folder",
                      options.checkpoints));
    }
  }
}

void FitLoop::check_decoding(const data::Dataset& dataset) const {
  const data::DecodeNeeds needs = data::decode_needs(dataset);
  if (needs.largest == 0) return;
  const Budget budget = input_.budget();
  const Bytes used = budget.used();
  const Bytes room = used + std::min(budget.available(), kUnlimited - used);
  const Bytes needed = input_of(impl_, {.batch = batch(), .decode = needs.largest});
  if (needed <= room) return;
  const Budget all = input_.device().budget();
  const Bytes limit = memory_.plan().input != 0 ? device().budget().limit() : all.limit();
  throw BudgetTooSmall(fmt::format(
      "[fit] {} takes {} to decode: with batches of {} the input pipelines need {}, and the budget "
      "of {} leaves them {}; raise it to {} or leave the file out",
      needs.largest_file, format_bytes(needs.largest), batch(), format_bytes(needed),
      format_bytes(limit), format_bytes(room),
      format_bytes(align_up(limit + (needed - room), MiB(1)))));
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
  const LimitRelief::Between between(*relief_);
  for (const Callback& callback : options_.callbacks) {
    if (callback.*which) (callback.*which)(*this);
  }
}

void FitLoop::begin() {
  began_ = Clock::now();
  resume();
  limit_ = device().budget().limit();
  relief_.emplace(device().budget(), [this](Bytes wanted) { return give(wanted); });
  // The plan was made for more: the pipelines must do with what it leaves them.
  if (limit_ < memory_.plan().budget) keep_within(limit_);
  gate_.begin();
  const TrainingPlan& plan = memory_.plan();
  predicted_ = plan.phases.front().seconds();
  log_begin();
  for (const plan::SlowTasks& slow : plan::slow_tasks(*plan.phases.front().steps.front())) {
    log().write("slow", {{"op", slow.op},
                         {"tasks", std::int64_t{slow.count}},
                         {"seconds", slow.seconds},
                         {"reason", slow.reason},
                         {"remedy", slow.remedy}});
    log_warning("[fit] slow: " + slow.to_string());
  }
  call(&Callback::on_begin);
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
    relief_->serve();
    serve_limit_requests();
    if (const std::string why = look_at_limit(); !why.empty()) log_warning(why);
    measure();
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
    std::optional<data::Element> element = train_.next();
    waited_ = std::chrono::duration<double>(Clock::now() - begin).count();
    return element;
  } catch (const Error&) {
    settle();
    save_before_error();
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
    log_failure(error.what());
    throw;
  } catch (...) {
    settle_quietly();
    log_failure("something that is not a std::exception was thrown");
    throw;
  }
  if (checkpoints_ || (interrupted_ && !options_.stop_checkpoints.empty())) last_checkpoint();
  if (state_.in_epoch > 0 && stopped_.empty()) {
    // It ends within an epoch: say where it stands.
    metrics_ = validate();
    add_training_metrics();
  }
  call(&Callback::on_end);

  FitResult result;
  result.losses = state_.losses;
  result.history = state_.history;
  if (state_.in_epoch > 0 && stopped_.empty()) result.history.push_back(metrics_);
  result.steps = state_.step;
  result.epochs = state_.epoch;
  result.seconds = seconds();
  result.planned_peak = std::max(planned_peak_, memory_.plan().planned_peak());
  result.measured_peak = memory_.stats().live_peak;
  note_peak(device().budget().limit());
  result.charged_peak = peak_;
  result.peak_limit = peak_limit_;
  result.replans = replans_;
  result.corrections = corrections_;
  result.predicted_step_seconds = predicted_;
  result.corrected_step_seconds = corrected_;
  result.measured_step_seconds = measured_;
  result.stopped = stopped_;
  result.checkpoint = written_;
  log_result(result);
  return result;
}

void FitLoop::train_one(const data::Element& element) {
  const std::int64_t count = element[0].shape().rank() == 0 ? 0 : element[0].shape().dim(0);
  const bool timed = time_next_ && count == batch();
  runner_.ready(element);  // before anything is counted
  StepCount counted(impl_.optimizer, memory_.stream());
  Submitted next{
      .count = count, .rate = impl_.optimizer.rate(), .waited = waited_, .first = steps_here_ == 0};
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
  if (timed) {
    time_next_ = false;
    correct(runner_.measured());
  }
}

bool FitLoop::must_settle() {
  if (!running_) return false;
  const std::int64_t step = state_.step + 1;
  return (options_.steps > 0 && step >= options_.steps) || state_.in_epoch + 1 == batches_ ||
         (checkpoints_ && options_.checkpoint_steps > 0 && step % options_.checkpoint_steps == 0) ||
         step == retry_at_ || (options_.stop != nullptr && options_.stop->load()) ||
         relief_->wanted() || limit_wanted() || device().budget().limit() != limit_ ||
         (options_.measure_after > 0 && steps_here_ == options_.measure_after && corrected_ == 0);
}

void FitLoop::settle() {
  if (!running_) return;
  Submitted done = std::move(*running_);
  running_.reset();
  note(done);
  after_step();
}

void FitLoop::note(Submitted& done) {
  const StepRunner::Numbers numbers = done.numbers.wait();
  loss_ = numbers.loss;
  accuracy_ = numbers.accuracy;
  rate_ = done.rate;
  try {
    if (done.timer != nullptr) done.seconds = done.timer->seconds().front();
  } catch (const DeviceError&) {  // a step after this one has failed; this one counts
  }
  // The first step makes its executors as well.
  if (done.count == batch() && !done.first && done.seconds &&
      (measured_ == 0 || *done.seconds < measured_)) {
    measured_ = *done.seconds;
  }
  ++state_.step;
  ++state_.in_epoch;
  elements_ += done.count;
  state_.losses.push_back(loss_);
  state_.loss_sum += static_cast<double>(loss_) * static_cast<double>(done.count);
  state_.loss_count += done.count;
  if (accuracy_) {
    state_.accuracy_sum += static_cast<double>(*accuracy_) * static_cast<double>(done.count);
  }
  if (!log().writes()) return;
  fit_log_.step({.step = state_.step,
                 .epoch = state_.epoch,
                 .loss = static_cast<double>(loss_),
                 .accuracy = accuracy_,
                 .rate = impl_.optimizer.schedule().at(state_.step - 1),
                 .seconds = done.seconds,
                 .waited = done.waited,
                 .elements = done.count,
                 .used = device().budget().used()});
  fit_log_.pipeline("train", train_, false);
}

void FitLoop::look_at_loss() {
  if (std::isfinite(loss_)) {
    nonfinite_ = 0;
    return;
  }
  // A loss scale leaves such a step out.
  if (++nonfinite_ < kSkippedInARow && impl_.loss_scale) return;
  const std::string loss = std::isnan(loss_) ? "nan" : fmt::format("{}", loss_);
  log().write("nonfinite_loss", {{"step", state_.step}, {"loss", loss}});
  const std::string what = fmt::format("the loss of step {} is {}", state_.step, loss);
  if (options_.allow_nonfinite_loss) {
    if (!std::exchange(warned_, true)) {
      log_warning(fmt::format("[fit] {}; training goes on, as it was asked to", what));
    }
    return;
  }
  const bool half = impl_.options.precision.compute == DType::f16;
  throw Diverged(fmt::format(
      "[fit] {}: training has diverged, or the data has values that are not finite; lower the "
      "learning rate (it is {:g}), clip gradients (clip_norm, now {:g}){}, or look at the data{}",
      what, impl_.optimizer.schedule().at(state_.step - 1), impl_.options.clip_norm,
      half ? ", use bf16 instead of f16" : "",
      written_.empty() ? "" : fmt::format("; the last checkpoint is {}", written_)));
}

void FitLoop::after_step() {
  in_callback_ = true;
  call(&Callback::on_step);
  gate_.step(state_.step);
  in_callback_ = false;
  look_at_loss();
  interrupted_ = options_.stop != nullptr && options_.stop->load();
  if (interrupted_) stopped_ = "interrupted";
  const bool due = options_.checkpoint_steps > 0 && state_.step % options_.checkpoint_steps == 0;
  if (checkpoints_ && (due || state_.step == retry_at_)) try_checkpoint(false);
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
