#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/report/html.h>
#include <plimsoll/report/run.h>

#include "commands.h"

extern char** environ;  // NOLINT: the system's name

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFooter =
    "RUN is a file that `plimsoll train --log FILE` wrote, or a folder of\n"
    "--checkpoints. Of a run that is still running, what there is so far is shown.\n"
    "\n"
    "Examples:\n"
    "  plimsoll report run.jsonl\n"
    "  plimsoll report small.jsonl large.jsonl --out compare.html\n";

struct Options {
  std::vector<std::string> runs;
  std::string out = "report.html";
  bool open = false;
};

/// Shows the page with what the desktop opens pages with; false if that cannot be.
bool show(const std::string& path) {
  const char* const display = std::getenv("DISPLAY");
  const char* const wayland = std::getenv("WAYLAND_DISPLAY");
  if (display == nullptr && wayland == nullptr) return false;
  std::string program = "xdg-open";
  std::string address = "file://" + fs::absolute(path).string();
  char* const words[] = {program.data(), address.data(), nullptr};
  pid_t process = 0;
  if (::posix_spawnp(&process, program.c_str(), nullptr, nullptr, words, environ) != 0) {
    return false;
  }
  int status = 0;
  return ::waitpid(process, &status, 0) == process && status == 0;
}

void describe(const report::Run& run) {
  fmt::print("{}: {}; {}\n", run.name, report::state_name(run.state), run.verdict());
  if (run.problem_count == 0) return;
  const report::RunProblem& first = run.problems.front();
  fmt::print("  {} could not be read, the first at line {}: {}\n",
             counted(run.problem_count, "line"), first.line, first.what);
}

void report_now(const Options& o) {
  std::vector<report::Run> runs;
  for (const std::string& path : o.runs) runs.push_back(report::read_run(path));
  for (const report::Run& run : runs) describe(run);
  report::write_html(runs, o.out);
  fmt::print("report: {} ({})\n", o.out, format_bytes(fs::file_size(o.out)));
  if (o.open && !show(o.out)) {
    fmt::print(stderr, "--open: there is no desktop here to show it on; open {} in a browser\n",
               o.out);
  }
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* const report =
      app.add_subcommand("report", "Draw runs as one page: memory, plan, pipeline, curves")
          ->footer(kFooter);
  const auto options = std::make_shared<Options>();
  report->add_option("RUN", options->runs, "Run logs or folders of checkpoints")->required();
  report->add_option("--out", options->out, "Write the page to this file")
      ->type_name("FILE")
      ->capture_default_str();
  report->add_flag("--open", options->open, "Show the page in a browser");
  report->callback([options] { report_now(*options); });
}

}  // namespace plimsoll::tools
