#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include <plimsoll/base/error.h>
#include "command_line.h"
#include "commands.h"

namespace {

constexpr const char* kDescription =
    "Trains machine-learning models within a memory budget that you state.\n"
    "\n"
    "Start with `plimsoll train`: it learns handwritten digits in seconds.\n"
    "`plimsoll plan` shows what a run would need before you start it. In a program,\n"
    "the budget is the device's limit: pm.device(\"cuda:0\", limit=\"8GiB\") in Python,\n"
    "Device::open(\"cuda:0\", {.limit = GiB(8)}) in C++.\n";

constexpr const char* kMainFooter =
    "Sizes are bytes with an optional unit: 4096, 512MiB, 8GiB.\n"
    "Exit codes: 0 done, 2 a mistake in the request or the data, 3 out of memory, 1\n"
    "anything else that went wrong.\n"
    "`plimsoll COMMAND --help` explains a command and shows examples.";

void add_commands(plimsoll::tools::Command& app) {
  plimsoll::tools::add_train(app);
  plimsoll::tools::add_tune(app);
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
  plimsoll::tools::CommandLine line(kDescription, kMainFooter);
  add_commands(line.root());
  return line.run(argc, argv);
}

/// A file opened later must not take the place of an output that is closed.
void occupy_standard_files() {
  for (int file = ::open("/dev/null", O_RDWR); file >= 0 && file <= STDERR_FILENO;) {
    file = ::open("/dev/null", O_RDWR);
  }
}

/// Messages begin with the function that speaks, "[plan]". The names of C++ classes, "[Pipeline]"
/// and "[Device::open]", say nothing to the reader of a command.
std::string_view without_class_name(std::string_view message) {
  const std::size_t end = message.find("] ");
  if (!message.starts_with('[') || end == std::string_view::npos) return message;
  const bool upper = std::isupper(static_cast<unsigned char>(message[1])) != 0;
  return upper ? message.substr(end + 2) : message;
}

int not_written(int error) {
  std::fprintf(stderr, "plimsoll: the output could not be written: %s\n", std::strerror(error));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_files();
  // A limit on the size of files is an error of the write that meets it.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = run_command(argc, argv);
    // What did not reach its place (a full disk) was not done.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return not_written(errno);
    return status;
  } catch (const plimsoll::Error& error) {
    const std::string_view text = without_class_name(error.what());
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    return error.exit_code();
  } catch (const std::system_error& error) {
    // fmt::print throws it; others' messages have more to say.
    if (std::ferror(stdout) != 0) return not_written(error.code().value());
    std::fprintf(stderr, "plimsoll: internal error: %s\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plimsoll: internal error: %s\n", error.what());
    return 1;
  }
}
