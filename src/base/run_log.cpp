#include <plimsoll/base/run_log.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

namespace plimsoll {

struct RunLog::State {
  ~State() {
    if (file >= 0) ::close(file);
  }
  std::string path;
  int file = -1;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  bool failed = false;
};

RunLog::RunLog() : state_(std::make_unique<State>()) {}

RunLog::RunLog(const std::string& path) : RunLog() {
  state_->path = path;
  state_->file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (state_->file < 0) {
    throw DataError(fmt::format("[RunLog] {} cannot be written: {}", path, std::strerror(errno)));
  }
}

RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;
RunLog::~RunLog() = default;

const std::string& RunLog::path() const { return state_->path; }

void RunLog::write(std::string_view event, Fields fields) {
  if (state_->file < 0) return;
  nlohmann::ordered_json json;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - state_->begin;
  json["time"] = time.count();
  json["event"] = std::string(event);
  for (const auto& field : fields) {
    std::visit([&](const auto& value) { json[std::string(field.first)] = value; }, field.second);
  }
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(state_->mutex);
  // One call, so that lines of a killed process are whole.
  if (::write(state_->file, line.data(), line.size()) != static_cast<ssize_t>(line.size()) &&
      !state_->failed) {
    state_->failed = true;
    log_warning(
        fmt::format("[RunLog] {} cannot be written: {}", state_->path, std::strerror(errno)));
  }
}

}  // namespace plimsoll
