#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace plimsoll::tools {

/// While one is there, Ctrl-C, SIGTERM and SIGHUP ask the run to stop, and so do SIGUSR1, which
/// batch systems send as a warning, and SIGXCPU (`ulimit -t`); a second one ends the process at
/// once. On a terminal the first says so. One at a time.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// True once a signal has come.
  static const std::atomic<bool>& asked();
  /// The signal that came first; 0 if none has.
  static int signal();

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace plimsoll::tools
