#include <plimsoll/base/run_log.h>

#include <fcntl.h>
#include <sys/stat.h>
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
    // The first character ends a line that was cut off by a full disk; it is left out elsewhere.
    Text line;
    line.push_back('\n');
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
    std::string_view left(line.data(), line.size());
    if (!cut) left.remove_prefix(1);
    // One call, so that lines of a killed process are whole. Where only a part of one fits, the
    // next call says why.
    for (errno = 0; !left.empty();) {
      const ssize_t written = ::write(file, left.data(), left.size());
      if (written <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(written));
      cut = !left.empty();
    }
    if (left.empty()) return;
    if (failed) return;
    failed = true;
    log_warning(
        fmt::format("[RunLog] {} cannot be written: {}; lines are missing from it from here on",
                    path, std::strerror(errno)));
  }

  std::string path;
  int file = -1;
  std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();
  std::mutex mutex;
  bool failed = false;
  bool cut = false;
  bool begun = false;
};

RunLog::RunLog() : state_(std::make_unique<State>()) {}

namespace {

/// A file that is something else (data, a program) is not written to: a run log begins with "{".
void require_log(const std::string& path) {
  struct stat there = {};
  if (::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode) || there.st_size == 0) return;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char first = 0;
  const ssize_t read = ::read(file, &first, 1);
  ::close(file);
  if (read != 1 || first == '{') return;
  throw DataError(fmt::format("[RunLog] {} exists and is not a run log; name another file", path));
}

/// Lines of two runs at a time stay whole, but their report mixes them.
void warn_of_others(int file, const std::string& path) {
  struct stat there = {};
  if (::fstat(file, &there) != 0 || !S_ISREG(there.st_mode)) return;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file, F_SETLK, &lock) == 0 || (errno != EACCES && errno != EAGAIN)) return;
  log_warning(fmt::format(
      "[RunLog] another run is writing to {} as well; its report will mix them up", path));
}

}  // namespace

RunLog::RunLog(const std::string& path) : RunLog() {
  require_log(path);
  state_->path = path;
  state_->file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (state_->file < 0) {
    throw DataError(fmt::format("[RunLog] {} cannot be written: {}", path, std::strerror(errno)));
  }
  warn_of_others(state_->file, path);
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
