#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/report/live.h>
#include <plimsoll/train/control.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

/// Set by Ctrl-C: watching ends, and the run goes on.
std::atomic<bool> asked_to_end = false;  // NOLINT: a signal handler has nothing else

constexpr const char* kWatchFooter =
    "Examples:\n"
    "  plimsoll watch run.jsonl\n"
    "  plimsoll watch 4711\n"
    "  plimsoll watch run.jsonl --http\n"
    "\n"
    "The --http page is for this user on this machine only: it listens on the\n"
    "loopback address, needs the token in its address, and is read-only. Ctrl-C\n"
    "stops watching; the run continues.";

constexpr int kLowestPriority = 19;

struct WatchArguments {
  std::string run;
  std::vector<std::string> http;
};

/// The log that a process was told to write, as its command line says; empty if none.
std::string log_of_process(const std::string& pid) {
  const fs::path process = fs::path("/proc") / pid;
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::string log;
  bool next = false;
  for (std::string word; std::getline(file, word, '\0');) {
    if (next) log = word;
    next = word == "--log";
    if (word.starts_with("--log=")) log = word.substr(std::string("--log=").size());
  }
  if (log.empty()) return log;
  std::error_code error;
  const fs::path here = fs::read_symlink(process / "cwd", error);
  return error ? log : (here / log).lexically_normal().string();
}

/// All that a run without a log tells: its memory.
void watch_memory(int pid) {
  for (bool first = true; !asked_to_end; first = false) {
    const train::ControlStatus status = train::control_status(pid);
    if (first) {
      fmt::print(stderr, "process {} writes no log; only its memory can be shown\n", pid);
    }
    fmt::print("{}: {} of {} used\n", status.device, format_bytes(status.used),
               format_bytes(status.limit));
    std::fflush(stdout);
    for (int i = 0; i < 20 && !asked_to_end; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

/// A folder of checkpoints names the log of its run.
std::string log_of_folder(const std::string& folder) {
  std::ifstream file(fs::path(folder) / "log");
  std::string log;
  std::getline(file, log);
  if (log.empty()) {
    throw DataError(fmt::format(
        "{}: this folder names no run log; name the file that `plimsoll train --log FILE` writes",
        folder));
  }
  return log;
}

void watch_now(Command& command, const WatchArguments& o) {
  // Whatever is watched comes first.
  (void)::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  report::WatchOptions options;
  if (command.find("--http")->given()) {
    options.http_port = o.http.empty() || o.http.front().empty() ? 0 : std::stoi(o.http.front());
  }
  (void)std::signal(SIGINT, [](int) { asked_to_end.store(true); });
  (void)std::signal(SIGTERM, [](int) { asked_to_end.store(true); });
  options.stop = &asked_to_end;
  std::error_code error;
  std::string log = o.run;
  if (!fs::exists(o.run, error)) {
    const bool number = o.run.size() < 10 &&
                        std::ranges::all_of(o.run, [](char c) { return c >= '0' && c <= '9'; });
    if (!number || !fs::exists(fs::path("/proc") / o.run, error)) {
      throw DataError(
          fmt::format("{}: there is no such file, folder or process; `plimsoll ctl` lists the runs "
                      "of this user",
                      printable(o.run)));
    }
    log = log_of_process(o.run);
    if (log.empty()) return watch_memory(std::stoi(o.run));
  } else if (fs::is_directory(o.run, error)) {
    log = log_of_folder(o.run);
  }
  report::watch(log, options);
}

}  // namespace

void add_watch(Command& app) {
  Command* const watch =
      app.add_subcommand("watch", "Show a run live, in the terminal or as a page")
          ->footer(kWatchFooter);
  const auto options = std::make_shared<WatchArguments>();
  watch->add_option("RUN", options->run, "A run log, a folder of checkpoints, or a process id")
      ->required()
      ->type_name("");
  watch
      ->add_option("--http", options->http,
                   "Also show the page on the loopback address; default: any free port")
      ->optional_value()
      ->check(is_port)
      ->type_name("PORT");
  watch->callback([watch, options] { watch_now(*watch, *options); });
}

}  // namespace plimsoll::tools
