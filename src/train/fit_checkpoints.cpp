#include "train/fit_checkpoints.h"

#include <unistd.h>
#include <chrono>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/base/storage_error.h>

#include "train/file_digest.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

/// Steps after which a checkpoint that could not be written is tried again.
constexpr std::int64_t kRetrySteps = 50;

/// What the update of each parameter is made with: momentum, decay, factors of its group. The first
/// in words, all of them as a digest.
std::string update_settings(const TrainingPlan& plan) {
  std::string first;
  std::string all;
  for (const graph::Node& node : plan.phases.front().steps.back()->graph->nodes()) {
    if (!node.op->update) continue;
    // Which tables are updated by rows is a matter of the plan: the same step, the same bits.
    std::string_view name = node.op->name;
    ops::Attributes settings;
    for (const auto& [key, value] : node.attributes.entries()) {
      if (key != "padding_id") settings.set(key, value);
    }
    if (name.ends_with("_rows")) name.remove_suffix(std::string_view("_rows").size());
    const std::string text = fmt::format("{} {}", name, settings.to_string());
    if (first.empty()) first = text;
    all += text + "\n";
  }
  return fmt::format("{} ({})", first, text_digest(all));
}

/// Calls use(callback, name) for those that keep something, with names that differ.
template <typename Use>
void for_keeping(const std::vector<Callback>& callbacks, Use use) {
  std::map<std::string, int> times;
  for (const Callback& callback : callbacks) {
    if (!callback.save || !callback.restore) continue;
    const int time = ++times[callback.name];
    use(callback, time == 1 ? callback.name : fmt::format("{} ({})", callback.name, time));
  }
}

Callback::State finite(Callback::State state, const std::string& callback) {
  for (const auto& [name, value] : state) {
    if (std::isfinite(value)) continue;
    throw InvalidArgument(fmt::format(
        "[checkpoint] the callback '{}' keeps {} = {}; checkpoints take finite numbers: "
        "leave it out while it is none",
        callback, name, value));
  }
  return state;
}

/// Where a last checkpoint goes if its own folder cannot take it, in this order.
std::vector<fs::path> other_folders() {
  std::vector<fs::path> all;
  std::error_code error;
  if (const fs::path here = fs::current_path(error); !error) all.push_back(here);
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) all.push_back(temporary);
  return all;
}

/// A folder in `within` that is no run's yet.
std::string fresh_folder(const fs::path& within) {
  fs::path path = within / fmt::format("plimsoll-run-{}", ::getpid());
  std::error_code error;
  for (int i = 2; fs::exists(path, error); ++i) {
    path = within / fmt::format("plimsoll-run-{}-{}", ::getpid(), i);
  }
  return path.string();
}

}  // namespace

void FitCheckpoints::open() {
  if (options_.checkpoints.empty()) {
    const char* wanted = options_.resume ? "resume" : !options_.best.empty() ? "best" : nullptr;
    if (wanted == nullptr) return;
    throw InvalidArgument(fmt::format(
        "[fit] '{}' needs a folder of checkpoints, and none is given; state 'checkpoints'",
        wanted));
  }
  folder_.emplace(options_.checkpoints, options_.checkpoints_kept);
  input_.train().save();  // refuses a pipeline that cannot be saved before anything is trained
  if (!options_.resume && !folder_->latest().empty()) {
    throw InvalidArgument(
        fmt::format("[fit] {} has the checkpoints of a run; resume it, or give another folder",
                    options_.checkpoints));
  }
}

std::map<std::string, std::string> FitCheckpoints::identity() const {
  const TrainingPlan& plan = memory_.plan();
  return {{"seed", std::to_string(impl_.options.seed)},
          {"batch", std::to_string(plan.batch())},
          {"number of parts of a batch", std::to_string(plan.parts())},
          {"precision", impl_.options.precision.name()},
          {"optimizer", std::string(impl_.optimizer.name())},
          {"optimizer's settings", update_settings(plan)},
          {"learning rate", impl_.optimizer.schedule().to_string()},
          {"gradient clipping", fmt::format("{} by norm, {} by value", impl_.options.clip_norm,
                                            impl_.options.clip_value)},
          {"moving average", fmt::format("{}", impl_.options.moving_average)}};
}

bool FitCheckpoints::resume() {
  if (!folder_ || !options_.resume) return false;
  std::optional<RunState> state = folder_->load(impl_, identity());
  if (!state) return false;
  state_ = std::move(*state);
  input_.restore(state_);
  for_keeping(options_.callbacks, [&](const Callback& callback, const std::string& name) {
    const auto kept = state_.callbacks.find(name);
    if (kept != state_.callbacks.end()) callback.restore(kept->second);
  });
  return true;
}

bool FitCheckpoints::due(std::int64_t step) const {
  if (!folder_) return false;
  return step == retry_at_ ||
         (options_.checkpoint_steps > 0 && step % options_.checkpoint_steps == 0);
}

std::map<std::string, Callback::State> FitCheckpoints::kept_by_callbacks() const {
  std::map<std::string, Callback::State> all;
  for_keeping(options_.callbacks, [&](const Callback& callback, const std::string& name) {
    all[name] = finite(callback.save(), name);
  });
  return all;
}

void FitCheckpoints::check_callbacks() const {
  if (folder_) (void)kept_by_callbacks();
}

void FitCheckpoints::save(bool best) {
  state_.identity = identity();
  input_.save(state_);
  state_.callbacks = kept_by_callbacks();
  const auto begin = std::chrono::steady_clock::now();
  written_ = folder_->save(impl_, state_, best);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  log_.write(
      "checkpoint",
      {{"step", state_.step}, {"path", written_}, {"best", best}, {"seconds", took.count()}});
}

bool FitCheckpoints::write(bool best) {
  std::string why;
  try {
    save(best);
    retry_at_ = -1;
    return true;
  } catch (const DataError& error) {
    why = error.what();
  } catch (const StorageError& error) {
    why = error.what();
  }
  retry_at_ = state_.step + kRetrySteps;
  log_warning(
      fmt::format("{}\n[fit] training goes on without the checkpoint of step {}; the next "
                  "attempt is after step {}",
                  why, state_.step, retry_at_));
  log_.write("checkpoint_failed", {{"step", state_.step}, {"why", why}});
  return false;
}

void FitCheckpoints::write_last() {
  std::exception_ptr first;
  std::string why;
  const auto attempt = [&](const std::function<void()>& open) {
    try {
      open();
      save(false);
      return true;
    } catch (const Error& error) {
      if (first == nullptr) {
        first = std::current_exception();
        why = error.what();
      }
      return false;
    }
  };
  if (attempt([&] {
        if (!folder_) {
          folder_.emplace(options_.stop_checkpoints, options_.checkpoints_kept);
        }
      })) {
    return;
  }
  for (const fs::path& folder : other_folders()) {
    const std::string path = fresh_folder(folder);
    if (attempt([&] { folder_.emplace(path, options_.checkpoints_kept); })) {
      log_warning(
          fmt::format("{}\n[fit] the checkpoint of step {} is in {}", why, state_.step, written_));
      return;
    }
    std::error_code ignored;
    folder_.reset();
    fs::remove_all(path, ignored);
  }
  std::rethrow_exception(first);
}

void FitCheckpoints::write_before_error() noexcept {
  try {
    if (state_.step == 0 || (!folder_ && options_.stop_checkpoints.empty())) return;
    write_last();
    log_warning(fmt::format("[fit] the data ended the run after step {}; its state is in {}",
                            state_.step, written_));
  } catch (const std::exception& error) {  // what ended the run is what is told
    log_warning(fmt::format("[fit] the steps so far could not be saved: {}", error.what()));
  }
}

}  // namespace plimsoll::train
