#pragma once

#include <memory>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/device.h>

namespace plimsoll::train {

/// What a running training says about itself.
struct ControlStatus {
  std::string device;
  Bytes used = 0;
  Bytes limit = 0;
};

/// Lets other processes of the same user look at a device's budget and move its limit, over a Unix
/// socket: $XDG_RUNTIME_DIR/plimsoll/PID.sock, or /tmp/plimsoll-UID/PID.sock. The folder is the
/// user's alone (0700), so is the socket (0600), and who connects is checked. One thread serves one
/// request after the other. Where no socket can be made it warns and does nothing.
class ControlServer {
 public:
  explicit ControlServer(const Device& device);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Removes the socket.
  ~ControlServer();

  /// Empty if there is none.
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Asks the process `pid`. InvalidArgument if it has no control socket.
ControlStatus control_status(int pid);
/// Moves its limit, and waits until it holds or is refused: BudgetTooSmall with the reason; the old
/// one then stays.
ControlStatus control_set_limit(int pid, Bytes limit);

}  // namespace plimsoll::train
