#include <plimsoll/train/control.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

#include "train/control_socket.h"

namespace plimsoll::train {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(5);  ///< for a client to say what it wants

/// A folder that nobody else can have put there or look into.
void require_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  struct stat is = {};
  if (::lstat(path.c_str(), &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != ::getuid() ||
      (is.st_mode & 077U) != 0) {
    throw Error(fmt::format("{} must be a folder that only this user can open", path));
  }
}

bool same_user(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::getuid() || peer.uid == 0);
}

Json status_of(const Device& device) {
  const Budget budget = device.budget();
  return {{"device", device.name()},
          {"used", budget.used()},
          {"limit", budget.limit()},
          {"total", device.info().total}};
}

Json answer_to(const LimitRequests::Verdict& verdict, const Device& device) {
  if (!verdict.refusal.empty()) return {{"error", verdict.refusal}};
  Json json = status_of(device);
  json["before"] = verdict.before;
  json["step"] = verdict.step;
  json["replanned"] = verdict.replanned;
  return json;
}

/// The limit that a request asks for. InvalidArgument for what no device could have.
Bytes limit_in(const Json& request, const Device& device) {
  const Json& value = request.at("budget");
  if (!value.is_number_unsigned() || value.get<Bytes>() == 0) {
    throw InvalidArgument(
        fmt::format("[ctl] a limit is a positive whole number of bytes, not {}", value.dump()));
  }
  const auto limit = value.get<Bytes>();
  const Bytes total = device.info().total;
  if (limit > total) {
    throw InvalidArgument(fmt::format("[ctl] a limit of {} is more than {} has: {}",
                                      format_bytes(limit), device.name(), format_bytes(total)));
  }
  return limit;
}

}  // namespace

struct ControlServer::State {
  State(const Device& d, LimitRequests* r) : device(d), requests(r) {}

  /// The socket gets its name when it listens already: one that refuses connections is abandoned.
  void open() {
    require_own_folder(control_folder());
    (void)sweep_control_folder();
    const std::string name = control_path(::getpid());
    const std::string unnamed = name + ".new";
    const sockaddr_un address = address_of(unnamed);
    if (::access(name.c_str(), F_OK) == 0) {
      throw Error(fmt::format("{} belongs to another run that is still there", name));
    }
    ::unlink(unnamed.c_str());
    Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Before it is bound: the mode counts from the first moment.
    if (!made || ::fchmod(made.get(), 0600) != 0 ||
        ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::chmod(unnamed.c_str(), 0600) != 0 || ::listen(made.get(), 16) != 0 ||
        std::rename(unnamed.c_str(), name.c_str()) != 0) {
      const int error = errno;
      ::unlink(unnamed.c_str());
      throw Error(fmt::format("{}: {}", name, std::strerror(error)));
    }
    path = name;
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
      auto connection =
          std::make_shared<Descriptor>(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!*connection || !same_user(connection->get())) continue;
      const auto line = read_line(connection->get(), Clock::now() + kPatience);
      if (!line || hung_up(connection->get())) continue;
      try {
        answer(std::move(connection), *line);
      } catch (const std::exception& error) {
        log_warning(fmt::format("[ControlServer] {}", error.what()));
      }
    }
  }

  void answer(std::shared_ptr<Descriptor> connection, const std::string& line) const {
    const int to = connection->get();
    try {
      const Json request = Json::parse(line, nullptr, false);
      if (!request.is_object()) throw InvalidArgument("[ctl] a request is one JSON object");
      if (!request.contains("budget")) {
        write_line(to, status_of(device));
      } else if (requests == nullptr) {
        write_line(to, answer_to(set_limit(limit_in(request, device)), device));
      } else {
        post(std::move(connection), limit_in(request, device));
      }
    } catch (const InvalidArgument& error) {
      write_line(to, {{"error", error.what()}, {"mistake", true}});
    }
  }

  LimitRequests::Verdict set_limit(Bytes limit) const {
    const Budget budget = device.budget();
    LimitRequests::Verdict verdict{.refusal = {}, .before = budget.limit()};
    try {
      budget.set_limit(limit);
    } catch (const Error& error) {
      verdict.refusal = error.what();
    }
    return verdict;
  }

  void post(std::shared_ptr<Descriptor> connection, Bytes limit) const {
    const auto to = std::move(connection);
    const bool posted = requests->post(
        {.limit = limit,
         .wanted = [to] { return !hung_up(to->get()); },
         .answer = [to, on = device](
                       const auto& verdict) { write_line(to->get(), answer_to(verdict, on)); }});
    if (!posted) throw InvalidArgument("[ctl] too many requests wait for this run; try again");
  }

  Device device;
  LimitRequests* requests;
  std::string path;
  Descriptor listener;
  Descriptor wake_read;
  Descriptor wake_write;
  std::thread thread;
};

ControlServer::ControlServer(const Device& device, LimitRequests* requests)
    : state_(std::make_unique<State>(device, requests)) {
  try {
    state_->open();
  } catch (const std::exception& error) {
    if (!state_->path.empty()) ::unlink(state_->path.c_str());
    state_->path.clear();
    log_warning(
        fmt::format("[ControlServer] `plimsoll ctl` cannot reach this run: {}", error.what()));
  }
}

ControlServer::~ControlServer() {
  if (!state_->thread.joinable()) return;
  const char byte = 0;
  [[maybe_unused]] const ssize_t sent = ::write(state_->wake_write.get(), &byte, 1);
  state_->thread.join();
  ::unlink(state_->path.c_str());
  // Whoever still waits: what is dropped here closes their connection.
  if (state_->requests != nullptr) state_->requests->clear();
}

const std::string& ControlServer::path() const { return state_->path; }

}  // namespace plimsoll::train
