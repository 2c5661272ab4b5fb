#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/train/control.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"

namespace plimsoll::tools {
namespace {

constexpr const char* kCtlFooter =
    "Examples:\n"
    "  plimsoll ctl                         list the runs of this user\n"
    "  plimsoll ctl 4711                    memory used and limit of one\n"
    "  plimsoll ctl 4711 --budget 2GiB      move its limit\n"
    "  plimsoll ctl 4711 --budget 50%       to half of what the device has\n"
    "\n"
    "The run takes a new limit at the end of its step, replans if it must, and\n"
    "continues with the same results; ctl waits for its answer. If nothing fits, the\n"
    "old limit stays, the reason is printed, and the exit code is 3.";

constexpr std::chrono::milliseconds kListTimeout{1000};

struct CtlArguments {
  int pid = 0;
  std::string budget;
  std::string timeout = "30s";
};

std::string use_of(const train::ControlStatus& status) {
  return fmt::format("{}: {} of {} used", status.device, format_bytes(status.used),
                     format_bytes(status.limit));
}

void list_runs(std::chrono::milliseconds timeout) {
  const std::vector<int> processes = train::control_processes();
  if (processes.empty()) fmt::print("no training run of this user can be reached\n");
  for (const int pid : processes) {
    try {
      fmt::print("{:>8}  {}\n", pid, use_of(train::control_status(pid, timeout)));
    } catch (const Error& error) {
      fmt::print("{:>8}  {}\n", pid, error.what());
    }
  }
}

Bytes limit_for(const CtlArguments& o, std::chrono::milliseconds timeout) {
  const Limit limit = Limit::parse(o.budget, "--budget");
  // Bytes need no question; a share is one of the device that the run is on.
  std::optional<Bytes> bytes = limit.resolve(0);
  if (o.budget.ends_with('%')) bytes = limit.resolve(train::control_status(o.pid, timeout).total);
  if (bytes.value_or(0) == 0) {
    throw InvalidArgument(
        fmt::format("--budget {}: give a size above 0, such as 512MiB", o.budget));
  }
  return *bytes;
}

void control(const CtlArguments& o, bool moves) {
  const std::chrono::milliseconds timeout = read_time(o.timeout, "--timeout");
  if (timeout.count() == 0) {
    throw InvalidArgument(
        fmt::format("--timeout {}: nothing answers at once; give a longer time", o.timeout));
  }
  if (o.pid == 0) {
    if (moves)
      throw InvalidArgument("--budget: name the run by its process id; `plimsoll ctl` lists them");
    // One that is stopped does not keep the others from being listed.
    list_runs(std::min(timeout, kListTimeout));
    return;
  }
  if (!moves) {
    fmt::print("{}\n", use_of(train::control_status(o.pid, timeout)));
    return;
  }
  const train::ControlVerdict verdict =
      train::control_set_limit(o.pid, limit_for(o, timeout), timeout);
  fmt::print(
      "the limit was {} and is now {}{}{}\n", format_bytes(verdict.before),
      format_bytes(verdict.limit),
      verdict.step > 0 ? fmt::format(", from step {} on", format_count(verdict.step + 1)) : "",
      verdict.replanned ? ", with a new plan" : "");
  fmt::print("{}\n", use_of(verdict));
}

}  // namespace

void add_ctl(Command& app) {
  Command* const ctl =
      app.add_subcommand("ctl", "List training runs, look at one, or move its limit")
          ->footer(kCtlFooter);
  const auto options = std::make_shared<CtlArguments>();
  ctl->add_option("PID", options->pid, "Process id of the run")->check(is_count)->type_name("");
  const Option* const budget =
      ctl->add_option("--budget", options->budget, "New limit: 2GiB, or 50% of the device")
          ->type_name("SIZE");
  ctl->add_option("--timeout", options->timeout, "How long to wait for an answer")
      ->type_name("TIME")
      ->show_default();
  ctl->callback([options, budget] { control(*options, budget->given()); });
}

}  // namespace plimsoll::tools
