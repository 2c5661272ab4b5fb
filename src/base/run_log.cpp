#include <plimsoll/base/run_log.h>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/base/system.h>
#include <plimsoll/base/version.h>

#include "base/git_commit.h"

namespace plimsoll {
namespace {

using Text = fmt::memory_buffer;

void append(Text& to, std::string_view text) { to.append(text.data(), text.data() + text.size()); }

void append_value(Text& to, const RunLog::Field& field) {
  std::visit(
      [&](const auto& value) {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, std::string>) {
          append(to, json_string(value));
        } else if constexpr (std::is_same_v<Type, RunLog::Json>) {
          append(to, value.text);
        } else if constexpr (std::is_same_v<Type, double>) {
          if (std::isfinite(value)) {
            fmt::format_to(std::back_inserter(to), "{}", value);
          } else {
            append(to, "null");
          }
        } else {
          fmt::format_to(std::back_inserter(to), "{}", value);
        }
      },
      field);
}

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string system_name() {
  utsname name = {};
  return ::uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine)
                             : "";
}

}  // namespace

std::string json_string(std::string_view text) {
  // Most are names, which need no care.
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '"' ||
        c == '\\') {
      return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }
  return fmt::format("\"{}\"", text);
}

struct RunLog::State {
  ~State() {
    if (file >= 0) ::close(file);
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - opened).count();
  }

  void write(std::string_view event, std::span<const NamedField> fields) {
    if (file < 0) return;
    Text line;
    fmt::format_to(std::back_inserter(line), "{{\"time\":{:.6f},\"event\":", seconds());
    append(line, json_string(event));
    for (const auto& [name, value] : fields) {
      line.push_back(',');
      append(line, json_string(name));
      line.push_back(':');
      append_value(line, value);
    }
    append(line, "}\n");
    const std::lock_guard lock(mutex);
    // One call, so that lines of a killed process are whole.
    if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()) && !failed) {
      failed = true;
      log_warning(fmt::format("[RunLog] {} cannot be written: {}", path, std::strerror(errno)));
    }
  }

  std::string path;
  int file = -1;
  std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();
  std::mutex mutex;
  bool failed = false;
  bool begun = false;
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
bool RunLog::writes() const { return state_->file >= 0; }
double RunLog::seconds() const { return state_->seconds(); }

void RunLog::begin(Fields fields) {
  if (!writes()) return;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->begun) return;
    state_->begun = true;
  }
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<NamedField> all = {
      {"format", kFormat},
      {"plimsoll", std::string(version())},
      {"began", now.count() - seconds()},
      {"pid", static_cast<std::int64_t>(::getpid())},
      {"host", host_name()},
      {"system", system_name()},
      {"cpu", cpu_model()},
      {"cpus", static_cast<std::int64_t>(default_threads())},
      {"host_memory", host_memory().total},
      {"commit", git_commit(".")},
  };
  all.insert(all.end(), fields.begin(), fields.end());
  write("run", all);
}

void RunLog::write(std::string_view event, Fields fields) {
  state_->write(event, {fields.begin(), fields.size()});
}

void RunLog::write(std::string_view event, const std::vector<NamedField>& fields) {
  state_->write(event, fields);
}

}  // namespace plimsoll
