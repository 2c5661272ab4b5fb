#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::report {

/// How a run ended, as far as its log says.
enum class RunState : std::uint8_t {
  empty,     ///< the log has nothing of a run
  refused,   ///< before its first step: it does not fit, or the request was wrong
  running,   ///< its process is there, and the log is fresh
  finished,  ///< as it was asked to
  stopped,   ///< before its time, by itself or by a signal; Run::ending says why
  failed,    ///< by an error, which is Run::ending
  killed,    ///< the log ends in mid-run
  planned,   ///< it has a plan and has not begun; Run::ending explains it
  replayed,  ///< no run, but a trace that was replayed; times are operations
  reported,  ///< no run, but an out-of-memory or leak report
};
/// "finished", "killed", ...
std::string_view state_name(RunState state);

/// A line of the ledger of the process that ran.
struct RunHolder {
  std::string device;
  std::string budget;  ///< path: "cpu:0/training"
  std::string tag;     ///< "parameters", or whatever the log says
  std::string label;
};

/// Bytes of one holder, by its place in Run::holders.
struct RunHeld {
  std::size_t holder = 0;
  Bytes bytes = 0;
};

/// What a device's budget held at a moment. Times are seconds since the run began; the time between
/// the parts of a resumed run is left out.
struct RunMemory {
  double time = 0;
  Bytes used = 0;    ///< charged to the device's budget: pages
  Bytes limit = 0;   ///< of that budget
  Bytes peak = 0;    ///< the most that was charged so far
  Bytes system = 0;  ///< by the system's count (RSS, the driver); 0: unknown
  std::vector<RunHeld> held;
};

struct RunDevice {
  std::string name;  ///< "cpu:0"
  std::vector<RunMemory> memory;
  /// Who held what when most was held; `used` is the budget's peak. Empty `held`: not known.
  RunMemory peak;
};

/// A step, or several that a long log has one line for; then loss, rates and times are means.
struct RunStep {
  double time = 0;
  std::int64_t step = 0;   ///< the last of them, counted from 1
  std::int64_t steps = 1;  ///< how many
  std::int64_t epoch = 0;  ///< epochs finished before
  double loss = 0;         ///< NaN where it is not a number
  double loss_min = 0;
  double loss_max = 0;
  double accuracy = 0;  ///< NaN: the model gives none; the same for what follows
  double lr = 0;
  double seconds = 0;
  double waited = 0;  ///< for the batch
  std::int64_t elements = 0;
  Bytes used = 0;
};

struct RunMetric {
  double time = 0;
  std::int64_t epoch = 0;
  std::string name;
  double value = 0;
};

/// Anything else that happened: an epoch, a checkpoint, a limit that moved.
struct RunEvent {
  double time = 0;
  std::string kind;  ///< "epoch", "limit", ...
  std::string json;  ///< the whole line, valid JSON
};

/// A plan that the run had from `time` on.
struct RunPlan {
  double time = 0;
  std::int64_t step = 0;
  std::string why = {};
  std::string json = {};                ///< figures, as TrainingPlan::to_json() gives them
  std::string timeline = {};            ///< as plan::to_json(Timeline) gives it; "null": not kept
  std::vector<double> op_seconds = {};  ///< measured, by task; NaN where not; empty: not measured
};

/// A line that could not be read.
struct RunProblem {
  std::int64_t line = 0;  ///< from 1; 0: the file as a whole
  std::string what;
};

/// A run as its log or its checkpoints tell it. Plain data.
struct Run {
  std::string name;  ///< of the file or folder
  std::string path;
  std::int64_t format = 0;  ///< of the log; 0: it does not say
  RunState state = RunState::empty;
  std::string ending;  ///< why it was refused or stopped, or the error it failed with
  std::string about;   ///< JSON: the line "run"; "null" if there is none
  std::string begin;   ///< JSON: the line "begin" of the first part
  std::string end;     ///< JSON: the line "end"
  /// JSON: as OutOfMemoryReport::to_json() and train::LeakReport::to_json() give them, where that
  /// ended the run; "null" else.
  std::string out_of_memory = "null";
  std::string leak = "null";
  /// JSON: predicted step time against the budget, [{"budget", "seconds"}, ...]; "null": not known.
  std::string curve = "null";
  std::map<std::string, std::string> options;  ///< settings and options, for comparing runs
  double began = 0;                            ///< seconds since 1970; 0: unknown
  double seconds = 0;                          ///< until the last line
  std::int64_t pid = 0;                        ///< of the last part
  std::int64_t parts = 0;                      ///< 1, and one more for each time it was resumed
  std::int64_t earlier = 0;                    ///< other runs in the same file, before this one

  std::vector<RunHolder> holders;
  std::vector<RunDevice> devices;
  std::vector<RunStep> steps;
  std::vector<RunMetric> metrics;
  std::vector<RunEvent> events;
  std::vector<RunPlan> plans;
  /// JSON: the last line "pipeline" for each name.
  std::map<std::string, std::string> pipelines;
  std::vector<RunProblem> problems;  ///< the first 100
  std::int64_t problem_count = 0;

  /// "kept 7.31 MiB of 8 MiB; planned peak 4.02 MiB, measured the same to the byte"
  std::string verdict() const;
};

/// Reads a run log, or a folder of checkpoints (its log where that is still there, else what the
/// latest checkpoint knows). DataError only if there is nothing to read; a log that is damaged, cut
/// off or not of this format gives what is whole, and the rest is named in `problems`.
Run read_run(const std::string& path);

/// The same for a log's text. Never throws but std::bad_alloc.
Run read_run_log(std::string_view text, const std::string& name = "run");

}  // namespace plimsoll::report
