// Where a run is read from: a log, or a folder of checkpoints.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/report/run.h>

#include "report/json_fields.h"
#include "report/run_source.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

/// No log is as large; what is may be a device, or anything.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 31;
/// A run writes every second; one that has not for so long is not there.
constexpr double kFreshSeconds = 10;

std::string contents(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw DataError(fmt::format(
        "[report] {}: {}", path.string(),
        fs::exists(path, error) ? "this is not a file" : "there is no such file or folder"));
  }
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > kMostBytes) {
    throw DataError(fmt::format("[report] {}: {} is too much for a run log", path.string(),
                                format_bytes(bytes)));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("[report] {}: {}", path.string(), std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), {}};
}

Run from_log(const fs::path& path, const std::string& name) {
  Run run = read_run_log(contents(path), name);
  run.path = path.string();
  if (goes_on(run, path)) run.state = RunState::running;
  return run;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What a checkpoint knows of its run: options, losses of all steps, metrics of all epochs.
Run from_checkpoint(const fs::path& folder, const fs::path& checkpoint, const std::string& name) {
  Run run;
  run.name = name;
  run.path = folder.string();
  run.about = run.begin = run.end = "null";
  run.state = RunState::stopped;
  run.ending = fmt::format("read from the checkpoint {}, as its log is not there",
                           checkpoint.filename().string());
  run.parts = 1;
  const Json state = parsed(contents(checkpoint / "state.json"));
  if (!state.is_object()) {
    run.problems.push_back({0, (checkpoint / "state.json").string() + " is damaged"});
    run.problem_count = 1;
    return run;
  }
  if (const Json* const settings = field(state, "identity");
      settings != nullptr && settings->is_object()) {
    for (const auto& [key, value] : settings->items()) {
      if (value.is_string()) run.options[key] = value.get<std::string>();
    }
  }
  std::error_code error;
  const std::string losses = fs::exists(checkpoint / "losses.f32", error)
                                 ? contents(checkpoint / "losses.f32")
                                 : std::string();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i + sizeof(float) <= losses.size(); i += sizeof(float)) {
    float loss = 0;
    std::memcpy(&loss, losses.data() + i, sizeof loss);
    const auto value = static_cast<double>(loss);
    run.steps.push_back({.step = static_cast<std::int64_t>(i / sizeof(float)) + 1,
                         .loss = value,
                         .loss_min = value,
                         .loss_max = value,
                         .accuracy = kNone,
                         .lr = kNone,
                         .seconds = kNone,
                         .waited = kNone});
  }
  if (const Json* const history = field(state, "history");
      history != nullptr && history->is_array()) {
    std::int64_t epoch = 0;
    for (const Json& metrics : *history) {
      ++epoch;
      if (!metrics.is_object()) continue;
      for (const auto& [key, value] : metrics.items()) {
        run.metrics.push_back({0, epoch, key, number_or(&value, kNone)});
      }
    }
  }
  return run;
}

}  // namespace

std::string name_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

bool goes_on(const Run& run, const fs::path& path) {
  if (run.state != RunState::killed || run.pid <= 0) return false;
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0 ||
      text(parsed(run.about), "host") != host.data()) {
    return false;
  }
  if (::kill(static_cast<pid_t>(run.pid), 0) != 0 && errno != EPERM) return false;
  if (run.begin == "null") return true;  // it plans, and writes nothing meanwhile
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
  return !error && age.count() < kFreshSeconds;
}

Run read_run(const std::string& path) {
  const fs::path given = path;
  const std::string name = name_of(given);
  std::error_code error;
  if (!fs::is_directory(given, error)) return from_log(given, name);
  const std::string log = first_line(given / "log");
  if (!log.empty() && fs::is_regular_file(log, error)) return from_log(log, name);
  const std::string latest = first_line(given / "latest");
  if (!latest.empty() && fs::exists(given / latest / "state.json", error)) {
    return from_checkpoint(given, given / latest, name);
  }
  if (fs::exists(given / "state.json", error)) return from_checkpoint(given, given, name);
  throw DataError(fmt::format(
      "[report] {}: this folder has neither a run log nor checkpoints; name a file that `plimsoll "
      "train --log FILE` wrote, or a folder of --checkpoints",
      path));
}

}  // namespace plimsoll::report
