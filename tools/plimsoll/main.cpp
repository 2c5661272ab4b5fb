#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include <plimsoll/base/error.h>
#include <plimsoll/base/version.h>
#include "commands.h"

namespace {

constexpr int kUserError = 2;

constexpr const char* kDescription =
    "Keeps training inside a stated memory budget: plans it, proves it, holds it.";

constexpr const char* kFooter =
    "Sizes are bytes with an optional unit: 4096, 512MiB, 8GiB.\n"
    "Exit codes: 0 done, 2 a mistake in what was asked, 3 out of memory, 1 a fault of ours.\n"
    "`plimsoll COMMAND --help` explains a command and shows examples.";

void add_commands(CLI::App& app) {
  plimsoll::tools::add_devices(app);
  plimsoll::tools::add_replay(app);
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "plimsoll"};
  app.footer(kFooter);
  app.set_version_flag("--version", "plimsoll " + std::string(plimsoll::version()),
                       "Print the version and exit");
  add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come as exceptions with code 0; everything else is a mistyped command.
    return app.exit(error) == 0 ? 0 : kUserError;
  }
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const plimsoll::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plimsoll: internal error: %s\n", error.what());
    return 1;
  }
}
