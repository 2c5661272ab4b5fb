// Refuses to run where there is too little address space (`ulimit -v`), memory for data (`ulimit
// -d`) or stack (`ulimit -s`), before any library starts: OpenBLAS asks for its buffers when it is
// loaded, and again and again where they are refused.
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

namespace {

/// The command, its libraries, the stacks and heaps of its threads, and a small budget.
constexpr rlim_t kLeast = rlim_t{1} << 30;
/// The same without the libraries' code.
constexpr rlim_t kLeastData = rlim_t{1} << 29;
/// Of every thread: the libraries' kernels keep blocks there.
constexpr rlim_t kLeastStack = rlim_t{1} << 19;

void require_room(int /*argc*/, char** /*argv*/, char** /*env*/) {
  const auto is_below = [](auto resource, rlim_t least) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur < least;
  };
  const char* message = nullptr;
  if (is_below(RLIMIT_AS, kLeast)) {
    message =
        "plimsoll: less than 1 GiB of address space (ulimit -v); raise it with `ulimit -v "
        "4194304`, "
        "or limit memory with --budget or a control group instead\n";
  } else if (is_below(RLIMIT_DATA, kLeastData)) {
    message =
        "plimsoll: less than 512 MiB of memory for data (ulimit -d); raise it with `ulimit -d "
        "2097152`, or limit memory with --budget or a control group instead\n";
  } else if (is_below(RLIMIT_STACK, kLeastStack)) {
    message = "plimsoll: less than 512 KiB of stack (ulimit -s); raise it with `ulimit -s 8192`\n";
  }
  if (message == nullptr) return;
  if (write(STDERR_FILENO, message, std::strlen(message)) < 0) _exit(1);
  _exit(2);
}

/// The loader calls these before the libraries' own beginnings.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)(int, char**,
                                                                   char**) = require_room;

}  // namespace
