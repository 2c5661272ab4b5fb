#include <plimsoll/train/control.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

namespace plimsoll::train {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongest = 64 << 10;  ///< of a message
constexpr int kPatience = 5000;             ///< ms for a client to say what it wants

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT: read, not kept
  if (runtime != nullptr && *runtime == '/') return fmt::format("{}/plimsoll", runtime);
  return fmt::format("/tmp/plimsoll-{}", ::getuid());
}

std::string socket_path(int pid) { return fmt::format("{}/{}.sock", folder(), pid); }

/// A folder that nobody else can have put there or look into.
void require_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  struct stat is = {};
  if (::lstat(path.c_str(), &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != ::getuid() ||
      (is.st_mode & 077U) != 0) {
    throw Error(fmt::format("{} is not a folder of this user's alone", path));
  }
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw Error(fmt::format("{} is too long", path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool same_user(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::getuid() || peer.uid == 0);
}

/// A line, without its end; nothing if none comes. `patience` in ms, -1: for ever.
std::string read_line(int connection, int patience) {
  std::string line;
  std::array<char, 4096> chunk{};
  while (line.size() < kLongest) {
    pollfd waiting{connection, POLLIN, 0};
    if (::poll(&waiting, 1, patience) <= 0) return {};
    const ssize_t count = ::recv(connection, chunk.data(), chunk.size(), 0);
    if (count <= 0) return {};
    line.append(chunk.data(), static_cast<std::size_t>(count));
    const std::size_t end = line.find('\n');
    if (end != std::string::npos) return line.substr(0, end);
  }
  return {};
}

void write_line(int connection, const Json& json) {
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = ::send(connection, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

Json answer(const Device& device, const std::string& line) {
  try {
    const Json request = Json::parse(line);
    const Budget budget = device.budget();
    if (request.contains("budget")) budget.set_limit(request.at("budget").get<Bytes>());
    return {{"device", device.name()}, {"used", budget.used()}, {"limit", budget.limit()}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

ControlStatus ask(int pid, const Json& request) {
  const std::string path = socket_path(pid);
  const Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (!connection || ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address),
                               sizeof(address)) != 0) {
    throw InvalidArgument(fmt::format("[ctl] no training of process {} answers at {}: {}", pid,
                                      path, std::strerror(errno)));
  }
  write_line(connection.get(), request);
  const std::string line = read_line(connection.get(), -1);
  if (line.empty()) {
    throw InvalidArgument(fmt::format("[ctl] process {} ended before it answered", pid));
  }
  const Json json = Json::parse(line);
  if (json.contains("error")) throw BudgetTooSmall(json.at("error").get<std::string>());
  return {json.at("device").get<std::string>(), json.at("used").get<Bytes>(),
          json.at("limit").get<Bytes>()};
}

}  // namespace

struct ControlServer::State {
  explicit State(const Device& d) : device(d) {}

  void open() {
    require_own_folder(folder());
    path = socket_path(::getpid());
    const sockaddr_un address = address_of(path);
    ::unlink(path.c_str());  // of a process that had this number before
    Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Before it is bound: the mode counts from the first moment.
    if (!made || ::fchmod(made.get(), 0600) != 0 ||
        ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::chmod(path.c_str(), 0600) != 0 || ::listen(made.get(), 4) != 0) {
      throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::strerror(errno));
    wake_read = Descriptor(ends[0]);
    wake_write = Descriptor(ends[1]);
    listener = std::move(made);
    thread = std::thread([this] { serve(); });
  }

  void serve() const {
    for (;;) {
      std::array<pollfd, 2> waiting = {pollfd{listener.get(), POLLIN, 0},
                                       pollfd{wake_read.get(), POLLIN, 0}};
      if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
      if (waiting[1].revents != 0) return;
      if ((waiting[0].revents & POLLIN) == 0) continue;
      const Descriptor connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection || !same_user(connection.get())) continue;
      const std::string line = read_line(connection.get(), kPatience);
      if (!line.empty()) write_line(connection.get(), answer(device, line));
    }
  }

  Device device;
  std::string path;
  Descriptor listener;
  Descriptor wake_read;
  Descriptor wake_write;
  std::thread thread;
};

ControlServer::ControlServer(const Device& device) : state_(std::make_unique<State>(device)) {
  try {
    state_->open();
  } catch (const std::exception& error) {
    state_->path.clear();
    log_warning(fmt::format("[ControlServer] this run cannot be controlled: {}", error.what()));
  }
}

ControlServer::~ControlServer() {
  if (!state_->thread.joinable()) return;
  const char byte = 0;
  [[maybe_unused]] const ssize_t sent = ::write(state_->wake_write.get(), &byte, 1);
  state_->thread.join();
  ::unlink(state_->path.c_str());
}

const std::string& ControlServer::path() const { return state_->path; }

ControlStatus control_status(int pid) { return ask(pid, Json::object()); }
ControlStatus control_set_limit(int pid, Bytes limit) { return ask(pid, {{"budget", limit}}); }

}  // namespace plimsoll::train
