// What a fit writes to its run log when it begins and ends.

#include <exception>

#include <nlohmann/json.hpp>

#include <plimsoll/memory/out_of_memory.h>

#include "train/fit_loop.h"

namespace plimsoll::train {

void FitLoop::log_begin() {
  if (!log_.writes()) return;
  log_.begin();
  const TrainingPlan& plan = plan_.now();
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const auto& [name, value] : checkpoints_.identity()) settings[name] = value;
  std::vector<RunLog::NamedField> fields = {
      {"device", device().name()},
      {"budget", limits_.limit()},
      {"planned_peak", plan.planned_peak()},
      {"charged", plan.charged},
      {"input", plan.input},
      {"batch", plan.batch()},
      {"parts", plan.parts()},
      {"usage", std::string(usage_name(plan.device.usage))},
      {"step", state_.step},
      {"epoch", state_.epoch},
      {"total_steps", total_steps()},
      {"epoch_steps", epoch_steps()},
      {"epochs", options_.epochs},
      {"device_description", device().info().description},
      {"device_memory", device().info().total},
      {"settings",
       RunLog::Json{settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}}};
  log_.write("begin", fields);
  if (const std::string note = runtime_note(plan.device); !note.empty()) {
    log_.write("note", {{"text", note}});
  }
  fit_log_.plan(plan, "", state_.step);
  std::vector<Device> devices = {device()};
  if (options_.host && !options_.host->same_backend(device())) devices.push_back(*options_.host);
  fit_log_.watch(std::move(devices));
}

void FitLoop::log_result(const FitResult& result) {
  if (!log_.writes()) return;
  fit_log_.pipeline("train", input_.train(), true);
  if (input_.validation() != nullptr) {
    fit_log_.pipeline("validation", *input_.validation(), true);
  }
  fit_log_.finish();
  log_.write("end", {{"steps", result.steps},
                     {"epochs", result.epochs},
                     {"seconds", result.seconds},
                     {"planned_peak", result.planned_peak},
                     {"measured_peak", result.measured_peak},
                     {"charged_peak", result.charged_peak},
                     {"peak_limit", result.peak_limit},
                     {"replans", result.replans},
                     {"corrections", result.corrections},
                     {"predicted_seconds_per_step", result.predicted_step_seconds},
                     {"corrected_seconds_per_step", result.corrected_step_seconds},
                     {"measured_seconds_per_step", result.measured_step_seconds},
                     {"checkpoint", result.checkpoint},
                     {"stopped", result.stopped}});
}

void FitLoop::log_failure(const std::string& what, const std::exception* error) noexcept {
  try {
    fit_log_.finish();
    std::vector<RunLog::NamedField> fields = {
        {"step", state_.step}, {"message", what}, {"checkpoint", checkpoints_.written()}};
    if (const auto* const refused = dynamic_cast<const OutOfMemory*>(error)) {
      fields.emplace_back("out_of_memory", RunLog::Json{refused->report().to_json()});
    }
    if (const auto* const leak = dynamic_cast<const MemoryLeak*>(error)) {
      fields.emplace_back("leak", RunLog::Json{leak->report().to_json()});
    }
    log_.write("failed", fields);
  } catch (const std::exception&) {  // the first error is the one that is told
    return;
  }
}

}  // namespace plimsoll::train
