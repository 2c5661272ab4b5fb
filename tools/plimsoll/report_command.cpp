#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/report/exports.h>
#include <plimsoll/report/html.h>
#include <plimsoll/report/run.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"

extern char** environ;  // NOLINT: the system's name

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportFooter =
    "RUN is a file written by `plimsoll train --log FILE`, or a --checkpoints folder.\n"
    "A run that is still going is shown up to now.\n"
    "\n"
    "Examples:\n"
    "  plimsoll report run.jsonl\n"
    "  plimsoll report small.jsonl large.jsonl --out compare.html\n"
    "  plimsoll report run.jsonl --tensorboard logs --perfetto run.pftrace";

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
  bool open = false;
  std::string tensorboard;
  std::string perfetto;
  std::string memory_viz;
  std::string csv;
  std::string json;
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

std::string page_path(const ReportArguments& o) { return o.out.empty() ? "report.html" : o.out; }

/// Returns what to say of it.
std::string write_page(const ReportArguments& o, const std::vector<report::Run>& runs) {
  const std::string path = page_path(o);
  report::write_html(runs, path);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  std::string said =
      fmt::format("report: {}{}\n", path, error ? "" : fmt::format(" ({})", format_bytes(bytes)));
  if (o.open && !show(path)) {
    said +=
        fmt::format("--open: there is no desktop here to show it on; open {} in a browser\n", path);
  }
  return said;
}

/// Returns what to say of them; nothing if none was asked for.
std::string export_runs(const ReportArguments& o, const std::vector<report::Run>& runs) {
  std::string said;
  const auto written = [&](const char* what, const std::string& path) {
    said += fmt::format("{}: {}\n", what, path);
  };
  if (!o.tensorboard.empty()) {
    report::write_tensorboard(runs, o.tensorboard);
    written("for TensorBoard", o.tensorboard);
  }
  if (!o.perfetto.empty()) {
    report::write_perfetto(runs, o.perfetto);
    written("for ui.perfetto.dev", o.perfetto);
  }
  if (!o.memory_viz.empty()) {
    if (runs.size() > 1) {
      throw InvalidArgument("--memory-viz: it shows the plan of one run; name one RUN");
    }
    report::write_memory_viz(runs.front(), o.memory_viz);
    written("for pytorch.org/memory_viz", o.memory_viz);
  }
  if (!o.csv.empty()) {
    report::write_csv(runs, o.csv);
    written("tables", o.csv);
  }
  if (!o.json.empty()) {
    report::write_json(runs, o.json);
    written("JSON", o.json);
  }
  return said;
}

/// Nobody means to write a page over the log that it is drawn from.
void check_outputs(const ReportArguments& o, const std::vector<report::Run>& runs) {
  for (const report::Run& run : runs) {
    require_other_file("--out", page_path(o), run.path);
    require_other_file("--perfetto", o.perfetto, run.path);
    require_other_file("--memory-viz", o.memory_viz, run.path);
    require_other_file("--json", o.json, run.path);
  }
}

report::Run read_named_run(const std::string& path) {
  report::Run run = report::read_run(path);
  if (run.state == report::RunState::empty && run.problem_count > 0) {
    throw DataError(fmt::format(
        "[report] {}: this is not a run log, as no line of it can be read; name a file that "
        "`plimsoll train --log FILE` wrote, or a folder of --checkpoints",
        printable(path)));
  }
  return run;
}

/// Runs whose logs have one name, "a/run.jsonl" and "b/run.jsonl", are named by their paths.
void tell_apart(std::vector<report::Run>& runs, const std::vector<std::string>& paths) {
  std::map<std::string, int> count;
  for (const report::Run& run : runs) ++count[run.name];
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (count[runs[i].name] > 1) runs[i].name = printable(paths[i]);
  }
}

void report_now(const ReportArguments& o) {
  std::vector<report::Run> runs;
  for (const std::string& path : o.runs) runs.push_back(read_named_run(path));
  check_outputs(o, runs);
  tell_apart(runs, o.runs);
  std::string said = export_runs(o, runs);
  if (said.empty() || !o.out.empty() || o.open) said += write_page(o, runs);
  for (const report::Run& run : runs) describe(run);
  fmt::print("{}", said);
}

}  // namespace

void add_report(Command& app) {
  Command* const report =
      app.add_subcommand("report", "Draw runs as a page; export them to other tools")
          ->footer(kReportFooter);
  const auto options = std::make_shared<ReportArguments>();
  report->add_option("RUN", options->runs, "Run logs or folders of checkpoints")
      ->required()
      ->type_name("");
  report
      ->add_option("--out", options->out,
                   "Write the page to this file; default: report.html, if no other output is asked "
                   "for")
      ->type_name("FILE");
  report->add_flag("--open", options->open, "Show the page in a browser");
  report
      ->add_option("--tensorboard", options->tensorboard,
                   "Write event files for TensorBoard to this folder")
      ->type_name("FOLDER");
  report->add_option("--perfetto", options->perfetto, "Write a trace for ui.perfetto.dev")
      ->type_name("FILE");
  report
      ->add_option("--memory-viz", options->memory_viz,
                   "Write the plan of a step for PyTorch's memory viewer")
      ->type_name("FILE");
  report->add_option("--csv", options->csv, "Write steps, memory, metrics and events as tables")
      ->type_name("FOLDER");
  report->add_option("--json", options->json, "Write everything as one JSON object")
      ->type_name("FILE");
  report->callback([options] { report_now(*options); });
}

}  // namespace plimsoll::tools
