#include "train/control_socket.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongest = 64 << 10;  ///< of a message
constexpr std::time_t kBeingMade = 60;      ///< seconds that a socket may take to get its name

bool is_own_folder(const std::string& path) {
  struct stat is = {};
  return ::lstat(path.c_str(), &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == ::getuid();
}

/// The number that a name of the form NUMBER.sock, or NUMBER.sock.new, begins with.
std::optional<int> pid_of(std::string_view name) {
  int pid = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const std::string_view suffix(rest, static_cast<std::size_t>(name.data() + name.size() - rest));
  if (error != std::errc() || pid <= 0 || (suffix != ".sock" && suffix != ".sock.new")) {
    return std::nullopt;
  }
  return pid;
}

/// A socket whose process is gone refuses connections; one that is busy or stopped does not.
bool is_abandoned(const std::string& path) {
  struct stat is = {};
  if (::lstat(path.c_str(), &is) != 0 || !S_ISSOCK(is.st_mode)) return false;
  if (path.ends_with(".new") && std::time(nullptr) - is.st_mtime < kBeingMade) return false;
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  return probe &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
             0 &&
         errno == ECONNREFUSED;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string control_folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT: read, not kept
  if (runtime != nullptr && *runtime == '/') return fmt::format("{}/plimsoll", runtime);
  return fmt::format("/tmp/plimsoll-{}", ::getuid());
}

std::string control_path(int pid) { return fmt::format("{}/{}.sock", control_folder(), pid); }

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    throw Error(fmt::format("{} is too long for the name of a socket; the system takes {} bytes",
                            path, sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::vector<int> sweep_control_folder() {
  std::vector<int> processes;
  const std::string folder = control_folder();
  if (!is_own_folder(folder)) return processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (entries == nullptr) return processes;
  while (const dirent* const entry = ::readdir(entries.get())) {  // NOLINT: a stream of our own
    const std::optional<int> pid = pid_of(entry->d_name);
    if (!pid) continue;
    const std::string path = fmt::format("{}/{}", folder, entry->d_name);
    if (is_abandoned(path)) {
      ::unlink(path.c_str());
    } else if (path.ends_with(".sock")) {
      processes.push_back(*pid);
    }
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::optional<std::string> read_line(int connection, Clock::time_point deadline) {
  std::string line;
  std::array<char, 4096> chunk{};
  while (line.size() < kLongest) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd waiting{connection, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t count = ::recv(connection, chunk.data(), chunk.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    line.append(chunk.data(), static_cast<std::size_t>(count));
    const std::size_t end = line.find('\n');
    if (end != std::string::npos) return line.substr(0, end);
  }
  return std::nullopt;
}

void write_line(int connection, const nlohmann::json& json) {
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count =
        ::send(connection, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

bool hung_up(int connection) {
  pollfd looked{connection, POLLIN, 0};
  return ::poll(&looked, 1, 0) < 0 || (looked.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace plimsoll::train
