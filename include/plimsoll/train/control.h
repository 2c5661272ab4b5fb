#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/device.h>
#include <plimsoll/train/limit_requests.h>

namespace plimsoll::train {

/// Lets other processes of the same user look at a device's budget and move its limit, over a Unix
/// socket: $XDG_RUNTIME_DIR/plimsoll/PID.sock, or /tmp/plimsoll-UID/PID.sock. The folder is the
/// user's alone (0700), so is the socket (0600), and who connects is checked. Sockets that killed
/// processes left in the folder are removed. Where no socket can be made it warns and does nothing.
///
/// A limit is refused if it is not a positive number of bytes, or more than the device has.
/// Otherwise it goes to `requests`, and who asked gets the run's verdict; without `requests` it is
/// set at once. One thread serves all: it answers questions while a verdict is still to come.
class ControlServer {
 public:
  /// `requests` must outlive the server.
  explicit ControlServer(const Device& device, LimitRequests* requests = nullptr);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Removes the socket. Who still waits for a verdict is told that there will be none.
  ~ControlServer();

  /// Empty if there is none.
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a run says about itself.
struct ControlStatus {
  int pid = 0;
  std::string device;
  Bytes used = 0;
  Bytes limit = 0;
  Bytes total = 0;  ///< what the device has
};

/// What it says to a new limit that it took.
struct ControlVerdict : ControlStatus {
  Bytes before = 0;        ///< the limit until then
  std::int64_t step = 0;   ///< steps finished then; 0 if no run was asked
  bool replanned = false;  ///< training goes on with another plan
};

inline constexpr std::chrono::milliseconds kControlTimeout = std::chrono::seconds(30);

/// Asks the process `pid`. InvalidArgument if it has no control socket, Error if it does not answer
/// in time: it may be stopped.
ControlStatus control_status(int pid, std::chrono::milliseconds timeout = kControlTimeout);

/// Asks for another limit and waits for the run's verdict. BudgetTooSmall with the reason if the
/// run cannot keep to it, InvalidArgument if nobody could: the old limit then stays. Error if no
/// verdict comes in time: the request is withdrawn.
ControlVerdict control_set_limit(int pid, Bytes limit,
                                 std::chrono::milliseconds timeout = kControlTimeout);

/// Processes of this user that can be asked, in ascending order.
std::vector<int> control_processes();

}  // namespace plimsoll::train
