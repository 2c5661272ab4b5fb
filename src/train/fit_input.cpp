#include "train/fit_input.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/needs.h>

#include "train/step_runner.h"

namespace plimsoll::train {
namespace {

data::PipelineOptions named(data::PipelineOptions options, const char* name) {
  options.name = name;
  options.limit = kUnlimited;         // the session's holds
  options.save_before_errors = true;  // a run that ends with one reads the element again
  return options;
}

}  // namespace

FitInput::FitInput(const TrainingPlan& plan, const data::Dataset& train,
                   const std::optional<data::Dataset>& validation, const FitOptions& options)
    : train_set_(train),
      validation_set_(validation),
      session_(input_session(plan, options.host)),
      train_(train, session_.device(), named(options.pipeline, "train")) {
  if (!validation) return;
  validation_.emplace(*validation, session_.device(), named(options.pipeline, "validation"));
  validation_->pause();
}

void FitInput::check(const Trainer::Impl& impl, const TrainingMemory& memory) const {
  if (validation_set_) data::require_disjoint(train_set_, *validation_set_);
  check_decoding(train_set_, impl, memory);
  if (validation_set_) check_decoding(*validation_set_, impl, memory);
}

void FitInput::check_decoding(const data::Dataset& dataset, const Trainer::Impl& impl,
                              const TrainingMemory& memory) const {
  const data::DecodeNeeds needs = data::decode_needs(dataset);
  if (needs.largest == 0) return;
  const std::int64_t batch = memory.plan().batch();
  const Budget budget = session_.budget();
  const Bytes used = budget.used();
  const Bytes room = used + std::min(budget.available(), kUnlimited - used);
  const Bytes needed = input_of(impl, {.batch = batch, .decode = needs.largest});
  if (needed <= room) return;
  const Budget all = session_.device().budget();
  const Bytes limit = memory.plan().input != 0 ? memory.parent().budget().limit() : all.limit();
  const Bytes enough = align_up(limit + (needed - room), MiB(1));
  throw BudgetTooSmall(
      fmt::format("[fit] {} takes {} to decode: with batches of {} the input pipelines need {}, "
                  "and the budget "
                  "of {} leaves them {}; raise it to {} or leave the file out",
                  needs.largest_file, format_bytes(needs.largest), batch, format_bytes(needed),
                  format_bytes(limit), format_bytes(room), format_bytes(enough)),
      enough);
}

data::Pipeline& FitInput::begin_validation() {
  train_.pause();
  if (validated_) validation_->rewind();
  return *validation_;
}

void FitInput::end_validation() {
  validated_ = true;
  validation_->pause();
}

void FitInput::limit(Bytes bytes) {
  const Budget input = session_.budget();
  if (input.used() > bytes) {
    train_.pause();
    if (validation_) validation_->pause();
    session_.arena().trim();
  }
  if (input.used() <= bytes) input.set_limit(bytes);
}

void FitInput::lend(const Budget& device) {
  const Budget input = session_.budget();
  const Bytes share = align_down(input.used() + device.available(), KiB(64));
  if (share > input.limit()) input.set_limit(share);
}

void FitInput::save(RunState& state) {
  state.train_position = train_.save();
  if (validation_) state.validation_position = validation_->save();
}

void FitInput::restore(const RunState& state) {
  train_.restore(state.train_position);
  if (!validation_ || state.validation_position.empty()) return;
  validation_->restore(state.validation_position);
  validation_->pause();
  validated_ = !state.history.empty();
}

void FitInput::log_skipped(std::int64_t epoch, RunLog& log) {
  constexpr std::int64_t kNamed = 10;
  const std::int64_t count = train_.skipped_count() - skipped_;
  if (count == 0) return;
  skipped_ += count;
  std::int64_t named = 0;
  for (const data::SkippedElement& each : train_.skipped()) {
    if (static_cast<std::int64_t>(each.epoch) + 1 != epoch || named++ >= kNamed) continue;
    log.write("skipped", {{"epoch", epoch}, {"message", each.message}});
  }
  log.write("skipped_count", {{"epoch", epoch}, {"count", count}});
}

}  // namespace plimsoll::train
