// Refuses to run where there is too little address space (`ulimit -v`), before any library starts:
// OpenBLAS asks for its buffers when it is loaded, and again and again where they are refused.
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

namespace {

/// The command, its libraries, the stacks and heaps of its threads, and a small budget.
constexpr rlim_t kLeast = rlim_t{1} << 30;

void require_address_space(int /*argc*/, char** /*argv*/, char** /*env*/) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeast) return;
  constexpr const char* kMessage =
      "plimsoll: less than 1 GiB of address space (ulimit -v); raise it with `ulimit -v 4194304`, "
      "or "
      "limit memory with --budget or a control group instead\n";
  if (write(STDERR_FILENO, kMessage, std::strlen(kMessage)) < 0) _exit(1);
  _exit(2);
}

/// The loader calls these before the libraries' own beginnings.
[[gnu::section(".preinit_array"), gnu::used]] void (*const first)(int, char**,
                                                                  char**) = require_address_space;

}  // namespace
