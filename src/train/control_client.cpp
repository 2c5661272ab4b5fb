#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/train/control.h>

#include "train/control_socket.h"

namespace plimsoll::train {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Stopped by SIGSTOP, Ctrl-Z or a debugger.
bool is_stopped(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name = text.rfind(") ");  // a name may have anything in it
  return name != std::string::npos && name + 2 < text.size() &&
         (text[name + 2] == 'T' || text[name + 2] == 't');
}

[[noreturn]] void fail_without_answer(int pid, milliseconds timeout, const char* consequence) {
  throw Error(fmt::format("[ctl] process {} did not answer within {}: {}{}", pid,
                          format_duration(std::chrono::duration<double>(timeout).count()),
                          is_stopped(pid)
                              ? fmt::format("it is stopped; continue it with `kill -CONT {}`", pid)
                              : "it may be in a long step; try again with a longer --timeout",
                          consequence));
}

[[noreturn]] void fail_without_socket(int pid, int error) {
  std::string running;
  for (const int other : control_processes()) {
    if (other != pid) running += fmt::format("{}{}", running.empty() ? "" : ", ", other);
  }
  throw InvalidArgument(fmt::format(
      "[ctl] no training run with process id {} ({}: {}); {}", pid, control_path(pid),
      std::strerror(error),
      running.empty() ? "no other run of this user has a control socket" : "running: " + running));
}

/// Waits at most until `deadline`, for a full queue of a stopped process, too.
Descriptor connect_to(int pid, Clock::time_point deadline, milliseconds timeout) {
  const sockaddr_un address = address_of(control_path(pid));
  Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection) throw Error(fmt::format("[ctl] socket: {}", std::strerror(errno)));
  const auto left =
      std::max(std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now()),
               std::chrono::microseconds(1));
  timeval patience = {};
  patience.tv_sec = static_cast<time_t>(left.count() / 1'000'000);
  patience.tv_usec = static_cast<suseconds_t>(left.count() % 1'000'000);
  (void)::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    if (errno == EAGAIN) fail_without_answer(pid, timeout, "");
    fail_without_socket(pid, errno);
  }
  return connection;
}

Json ask(int pid, const Json& request, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const Descriptor connection = connect_to(pid, deadline, timeout);
  write_line(connection.get(), request);
  const std::optional<std::string> line = read_line(connection.get(), deadline);
  if (!line) {
    const bool moves = request.contains("budget");
    if (Clock::now() >= deadline) {
      fail_without_answer(pid, timeout, moves ? ". The request is withdrawn" : "");
    }
    throw Error(fmt::format("[ctl] process {} ended before it answered", pid));
  }
  const Json json = Json::parse(*line, nullptr, false);
  if (!json.is_object()) {
    throw Error(fmt::format("[ctl] process {} gave an answer that is not understood: {}", pid,
                            line->substr(0, 80)));
  }
  if (!json.contains("error")) return json;
  const auto message = json.at("error").get<std::string>();
  if (json.value("mistake", false)) throw InvalidArgument(message);
  throw BudgetTooSmall(message);
}

void read_status(const Json& json, int pid, ControlStatus& status) {
  status.pid = pid;
  status.device = json.at("device").get<std::string>();
  status.used = json.at("used").get<Bytes>();
  status.limit = json.at("limit").get<Bytes>();
  status.total = json.at("total").get<Bytes>();
}

}  // namespace

ControlStatus control_status(int pid, milliseconds timeout) {
  ControlStatus status;
  read_status(ask(pid, Json::object(), timeout), pid, status);
  return status;
}

ControlVerdict control_set_limit(int pid, Bytes limit, milliseconds timeout) {
  const Json json = ask(pid, {{"budget", limit}}, timeout);
  ControlVerdict verdict;
  read_status(json, pid, verdict);
  verdict.before = json.at("before").get<Bytes>();
  verdict.step = json.at("step").get<std::int64_t>();
  verdict.replanned = json.at("replanned").get<bool>();
  return verdict;
}

std::vector<int> control_processes() { return sweep_control_folder(); }

}  // namespace plimsoll::train
