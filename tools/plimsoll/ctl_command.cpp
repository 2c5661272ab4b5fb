#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/train/control.h>

#include "commands.h"

namespace plimsoll::tools {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  plimsoll ctl 4711\n"
    "  plimsoll ctl 4711 --budget 2GiB\n"
    "\n"
    "A lower limit holds from the next step on; the run goes on with the same numbers.\n"
    "If nothing fits it, the old one stays, the reason is printed, and the exit code is 3.\n";

struct Options {
  int pid = 0;
  std::string budget;
};

void control(const Options& o) {
  const train::ControlStatus status =
      o.budget.empty() ? train::control_status(o.pid)
                       : train::control_set_limit(o.pid, parse_bytes(o.budget, "--budget"));
  fmt::print("{}: {} of {} used\n", status.device, format_bytes(status.used),
             format_bytes(status.limit));
}

}  // namespace

void add_ctl(CLI::App& app) {
  CLI::App* const ctl =
      app.add_subcommand("ctl", "Look at a running training, or move its limit")->footer(kFooter);
  const auto options = std::make_shared<Options>();
  ctl->add_option("PID", options->pid, "Process that trains")->required();
  ctl->add_option("--budget", options->budget, "Its new limit");
  ctl->callback([options] { control(*options); });
}

}  // namespace plimsoll::tools
