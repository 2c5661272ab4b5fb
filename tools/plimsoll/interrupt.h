#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace plimsoll::tools {

/// While one is there, Ctrl-C, SIGTERM and SIGHUP ask the run to stop; a second one ends the
/// process at once. On a terminal the first says so. One at a time.
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
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_ = {};
};

}  // namespace plimsoll::tools
