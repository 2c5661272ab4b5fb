#include "interrupt.h"

#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {
namespace {

// What a signal handler can reach.
std::atomic<bool> interrupted{false};  // NOLINT: see above
sem_t wake;                            // NOLINT: see above
struct sigaction before;               // NOLINT: Python's

struct Waits {
  std::mutex mutex;
  std::list<std::function<void()>> cancels;
};
Waits& waits() {
  static auto* const all = new Waits;  // NOLINT: its thread lives until the process ends
  return *all;
}

void on_interrupt(int signal) {
  const int error = errno;
  interrupted.store(true);
  sem_post(&wake);
  before.sa_handler(signal);
  errno = error;
}

void watch() {
  for (;;) {
    if (sem_wait(&wake) != 0) continue;
    const std::lock_guard lock(waits().mutex);
    for (const auto& cancel : waits().cancels) cancel();
  }
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

/// Puts our handler before Python's, where that is the one that raises KeyboardInterrupt. False
/// where the program has its own.
bool watched() {
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  if (now.sa_handler == on_interrupt) return true;
  const nb::module_ signals = nb::module_::import_("signal");
  if (!signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"))) return false;
  if (now.sa_handler == SIG_IGN || now.sa_handler == SIG_DFL) return false;
  static const bool started = [] {
    sem_init(&wake, 0, 0);
    std::thread(watch).detach();
    return true;
  }();
  before = now;
  now.sa_handler = on_interrupt;
  sigaction(SIGINT, &now, nullptr);
  return started;
}

void raise_pending() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

Interruptible::Interruptible(std::function<void()> cancel) {
  if (!is_main_thread() || !watched()) return;
  if (interrupted.exchange(false)) raise_pending();
  const std::lock_guard lock(waits().mutex);
  place_ = waits().cancels.insert(waits().cancels.end(), std::move(cancel));
  active_ = true;
}

Interruptible::~Interruptible() {
  if (!active_) return;
  const std::lock_guard lock(waits().mutex);
  waits().cancels.erase(place_);
}

void Interruptible::check() const {
  if (active_ && interrupted.exchange(false)) raise_pending();
}

}  // namespace plimsoll::python
