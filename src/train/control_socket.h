#pragma once

#include <sys/un.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// What both ends of a control socket need.

namespace plimsoll::train {

/// A file descriptor that is closed with this.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Where sockets of this user's processes are.
std::string control_folder();
std::string control_path(int pid);

/// Throws Error for a path that is too long for a socket.
sockaddr_un address_of(const std::string& path);

/// Removes sockets that nobody listens to any more from the folder, and returns the processes that
/// the others belong to. Does nothing in a folder that is not this user's.
std::vector<int> sweep_control_folder();

/// A line, without its end; nothing if none comes before `deadline`, or the other end closes.
std::optional<std::string> read_line(int connection,
                                     std::chrono::steady_clock::time_point deadline);

/// Sends what it can without waiting for the other end to read.
void write_line(int connection, const nlohmann::json& json);

/// True if nobody is at the other end any more.
bool hung_up(int connection);

}  // namespace plimsoll::train
