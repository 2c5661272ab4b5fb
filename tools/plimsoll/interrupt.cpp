#include "interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace plimsoll::tools {
namespace {

// What a signal handler can reach.
std::atomic<bool> g_asked{false};  // NOLINT: see above
std::atomic<int> g_signal{0};      // NOLINT: see above
std::atomic<bool> g_says{false};   // NOLINT: see above
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr std::string_view kInterrupted =
    "\nstopping after this step and its checkpoint; a second Ctrl-C stops at once\n";

void handle(int signal) {
  const int error = errno;
  int none = 0;
  g_signal.compare_exchange_strong(none, signal);
  g_asked.store(true);
  if (signal == SIGINT && g_says.load()) {
    [[maybe_unused]] const ssize_t sent =
        ::write(STDERR_FILENO, kInterrupted.data(), kInterrupted.size());
  }
  errno = error;
}

}  // namespace

Interrupt::Interrupt() {
  g_says.store(::isatty(STDERR_FILENO) != 0);
  struct sigaction action = {};
  action.sa_handler = handle;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    // nohup stays so. A shell's background jobs ignore Ctrl-C, but not who sends it to them.
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    // The system sends this one every second, and the checkpoint may take longer.
    action.sa_flags = kSignals[i] == SIGXCPU ? 0 : static_cast<int>(SA_RESETHAND);
    sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>& Interrupt::asked() { return g_asked; }
int Interrupt::signal() { return g_signal.load(); }

}  // namespace plimsoll::tools
