#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <plimsoll/base/error.h>
#include <plimsoll/base/version.h>
#include "commands.h"

namespace {

constexpr int kUserError = 2;

constexpr const char* kDescription =
    "Keeps training inside a stated memory budget.\n"
    "\n"
    "`plimsoll train` trains within a budget, `plimsoll plan` says beforehand what\n"
    "that takes. The other commands look at memory from outside. Programs state\n"
    "their budget through the library: Device::open(\"cuda:0\", {.limit = GiB(8)}).\n";

constexpr const char* kFooter =
    "Sizes are bytes with an optional unit: 4096, 512MiB, 8GiB.\n"
    "Exit codes: 0 done, 2 a mistake in the request, 3 out of memory, 1 our fault.\n"
    "`plimsoll COMMAND --help` explains a command and shows examples.";

/// What is wrong with the command line, and where to read how it should be.
std::string describe_mistake(const CLI::App* app, const CLI::Error& error) {
  const auto chosen = app->get_subcommands();
  const std::string name = "plimsoll" + (chosen.empty() ? "" : " " + chosen.front()->get_name());
  std::string message = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::string surplus = message.substr(message.rfind(": ") + 2);
    message =
        chosen.empty() && !surplus.starts_with('-') ? "there is no command '" : "unexpected '";
    message += surplus + "'";
  }
  return name + ": " + message + "; see `" + name + " --help`\n";
}

void add_commands(CLI::App& app) {
  plimsoll::tools::add_train(app);
  plimsoll::tools::add_plan(app);
  plimsoll::tools::add_ctl(app);
  plimsoll::tools::add_devices(app);
  plimsoll::tools::add_replay(app);
  plimsoll::tools::add_place(app);
  plimsoll::tools::add_data(app);
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "plimsoll"};
  app.footer(kFooter);
  app.failure_message(describe_mistake);
  app.set_version_flag("--version", "plimsoll " + std::string(plimsoll::version()),
                       "Print the version and exit");
  add_commands(app);
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
  try {
    const int status = run(argc, argv);
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
