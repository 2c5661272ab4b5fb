#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>
#include "commands.h"
#include "mistakes.h"

namespace {

constexpr int kUserError = 2;

constexpr const char* kDescription =
    "Trains machine-learning models within a memory budget that you state.\n"
    "\n"
    "Start with `plimsoll train`: it learns handwritten digits in seconds.\n"
    "`plimsoll plan` says beforehand what training would take. In a program the\n"
    "budget is the device's limit: Device::open(\"cuda:0\", {.limit = GiB(8)}).\n";

/// Descriptions are wrapped to what is left of 80 columns beside the names.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return plimsoll::wrapped(CLI::Formatter::make_option_desc(option), 0, 80 - get_column_width());
  }
};

constexpr const char* kMainFooter =
    "Sizes are bytes with an optional unit: 4096, 512MiB, 8GiB.\n"
    "Exit codes: 0 done, 2 a mistake in the request or the data, 3 out of memory, 1\n"
    "anything else that went wrong.\n"
    "`plimsoll COMMAND --help` explains a command and shows examples.";

void add_commands(CLI::App& app) {
  plimsoll::tools::add_train(app);
  plimsoll::tools::add_evaluate(app);
  plimsoll::tools::add_predict(app);
  plimsoll::tools::add_generate(app);
  plimsoll::tools::add_plan(app);
  plimsoll::tools::add_ctl(app);
  plimsoll::tools::add_report(app);
  plimsoll::tools::add_watch(app);
  plimsoll::tools::add_devices(app);
  plimsoll::tools::add_replay(app);
  plimsoll::tools::add_place(app);
  plimsoll::tools::add_data(app);
}

int run_command(int argc, char** argv) {
  CLI::App app{kDescription, "plimsoll"};
  app.footer(kMainFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  app.failure_message(plimsoll::tools::describe_mistake);
  app.set_version_flag("--version", "plimsoll " + std::string(plimsoll::version()),
                       "Print the version and exit");
  add_commands(app);
  plimsoll::tools::refuse_empty_values(app);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // a command ends with a code of its own
  } catch (const CLI::ParseError& error) {
    // Help and version come as exceptions with code 0; everything else is a mistyped command.
    return app.exit(error) == 0 ? 0 : kUserError;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stdout);
  }
  return 0;
}

/// A file opened later must not take the place of an output that is closed.
void occupy_standard_files() {
  for (int file = ::open("/dev/null", O_RDWR); file >= 0 && file <= STDERR_FILENO;) {
    file = ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_files();
  // A limit on the size of files is an error of the write that meets it.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = run_command(argc, argv);
    // What did not reach its place (a full disk) was not done.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::fprintf(stderr, "plimsoll: the output could not be written: %s\n", std::strerror(errno));
      return 1;
    }
    return status;
  } catch (const plimsoll::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plimsoll: internal error: %s\n", error.what());
    return 1;
  }
}
