#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <plimsoll/report/live.h>

#include "report/run_reader.h"
#include "report/run_source.h"

namespace plimsoll::report {

struct LogFollower::State {
  std::string path;
  Run run;
  std::unique_ptr<RunReader> reader;
  std::string rest;      ///< of a line whose end has not come
  std::string run_line;  ///< the last line "run"
  std::int64_t line = 1;
  off_t offset = 0;
  ino_t file = 0;

  void forget() {
    run = Run();
    run.path = path;
    run.name = name_of(path);
    run.about = run.begin = run.end = "null";
    reader = std::make_unique<RunReader>(run);
  }
  void begin_anew() {
    forget();
    rest.clear();
    line = 1;
    offset = 0;
  }

  /// Another run may begin in the same file: it is known by a "begin" from the first step on.
  void look_for_start(std::string_view text) {
    const std::string_view head = text.substr(0, 64);
    if (head.find("\"event\":\"run\"") != std::string_view::npos) run_line = text;
    const bool begin = head.find("\"event\":\"begin\"") != std::string_view::npos;
    if (!begin || run.parts <= 1 || count(parsed(text), "step") != 0) return;
    const std::int64_t earlier = run.earlier + 1;
    forget();
    run.earlier = earlier;
    reader->read(run_line, line - 1);
  }

  void take(std::string_view text) {
    rest += text;
    std::size_t at = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', at)) {
      const std::string_view each = std::string_view(rest).substr(at, end - at);
      look_for_start(each);
      reader->read(each, line++);
      at = end + 1;
    }
    rest.erase(0, at);
  }

  bool read_file();
};

LogFollower::LogFollower(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->begin_anew();
}

LogFollower::~LogFollower() = default;

const Run& LogFollower::run() const { return state_->run; }

/// Reads what is there now, and no more: a run may write faster than this reads. Whether anything
/// was.
bool LogFollower::State::read_file() {
  const int log = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (log < 0) return false;
  struct stat now = {};
  bool any = false;
  if (::fstat(log, &now) == 0 && S_ISREG(now.st_mode)) {
    if (now.st_ino != file || now.st_size < offset) begin_anew();
    file = now.st_ino;
    std::array<char, 1 << 16> buffer = {};
    while (offset < now.st_size) {
      const auto most = std::min<off_t>(buffer.size(), now.st_size - offset);
      const ssize_t count = ::pread(log, buffer.data(), static_cast<std::size_t>(most), offset);
      if (count <= 0) break;
      offset += count;
      take({buffer.data(), static_cast<std::size_t>(count)});
      any = true;
    }
  }
  ::close(log);
  return any;
}

bool LogFollower::update() {
  State& s = *state_;
  bool any = s.read_file();
  s.reader->finish();
  if (s.run.state != RunState::killed) return any;
  if (!goes_on(s.run, s.path)) {
    // It may have written its end after the file was read, and gone: look once more.
    any = s.read_file() || any;
    s.reader->finish();
  } else {
    s.run.state = RunState::running;
  }
  return any;
}

}  // namespace plimsoll::report
