#include "report/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::report {
namespace {

constexpr std::size_t kLongestHead = 8192;
constexpr int kPatienceSeconds = 2;

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Error";
  }
}

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return std::tolower(c); });
  return all;
}

/// Up to the empty line; nullopt if the client is slow or gone, longer than kLongestHead if it
/// does not come.
std::optional<std::string> read_head(int client) {
  std::string head;
  std::array<char, 2048> buffer = {};
  while (head.find("\r\n\r\n") == std::string::npos && head.size() <= kLongestHead) {
    const ssize_t count = ::recv(client, buffer.data(), buffer.size(), 0);
    if (count <= 0) return std::nullopt;
    head.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return head;
}

/// Of a header, without spaces around it; nullopt if there is none.
std::optional<std::string> header(const std::string& head, const std::string& name) {
  std::istringstream lines(head);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line != "\r") {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || lower(line.substr(0, colon)) != name) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    const std::size_t end = line.find_last_not_of(" \t\r");
    return begin == std::string::npos || end < begin ? "" : line.substr(begin, end - begin + 1);
  }
  return std::nullopt;
}

/// The user at the other end, as the kernel's table of connections has it; nullopt if it does not.
std::optional<unsigned> user_of(int client) {
  sockaddr_in peer = {};
  socklen_t size = sizeof peer;
  if (::getpeername(client, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  const std::string local =
      fmt::format("{:08X}:{:04X}", peer.sin_addr.s_addr, ntohs(peer.sin_port));
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number;
    std::string address;
    std::string skipped;
    unsigned user = 0;
    words >> number >> address;
    if (address != local) continue;
    for (int i = 0; i < 5; ++i) words >> skipped;
    if (words >> user) return user;
  }
  return std::nullopt;
}

HttpResponse refused(int status, const std::string& why) {
  return {.status = status, .body = why + "\n"};
}

void send_all(int client, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // gone, or too slow
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

HttpResponse answer(const std::string& head, int client, int port,
                    const LoopbackServer::Handler& handler) {
  if (head.size() > kLongestHead) return refused(431, "the request is too long");
  std::istringstream first(head.substr(0, head.find("\r\n")));
  std::string method;
  std::string target;
  std::string version;
  first >> method >> target >> version;
  if (!version.starts_with("HTTP/1.") || !target.starts_with('/')) {
    return refused(400, "this is not a request");
  }
  if (method != "GET") return refused(405, "only GET is answered here");
  const std::string host = header(head, "host").value_or("");
  const std::array own = {fmt::format("127.0.0.1:{}", port), fmt::format("localhost:{}", port)};
  if (std::ranges::find(own, lower(host)) == own.end()) {
    return refused(421, "this server answers for " + own[0] + " only");
  }
  if (const auto user = user_of(client); user && *user != ::getuid()) {
    return refused(403, "this is another user's run");
  }
  HttpRequest request;
  const std::size_t query = target.find('?');
  request.path = target.substr(0, query);
  if (query != std::string::npos) request.query = target.substr(query + 1);
  const std::string origin = lower(header(head, "origin").value_or(""));
  const std::string site = lower(header(head, "sec-fetch-site").value_or(""));
  request.other_origin = (!origin.empty() && origin != "http://" + lower(host)) ||
                         (!site.empty() && site != "same-origin" && site != "none");
  return handler(request);
}

}  // namespace

LoopbackServer::LoopbackServer(int port, Handler handler) : handler_(std::move(handler)) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int code = errno;
    if (socket_ >= 0) ::close(socket_);
    throw Error(
        fmt::format("[report] 127.0.0.1:{} cannot be listened on: {}; give another port, "
                    "or 0 for any that is free",
                    port, std::strerror(code)));
  }
  port_ = ntohs(address.sin_port);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

LoopbackServer::~LoopbackServer() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(stop_);
  ::close(socket_);
}

void LoopbackServer::run() {
  for (;;) {
    std::array<pollfd, 2> wait = {pollfd{socket_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if (wait[0].revents == 0) continue;
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const timeval patience = {.tv_sec = kPatienceSeconds, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    serve(client);
    ::shutdown(client, SHUT_WR);
    ::close(client);
  }
}

void LoopbackServer::serve(int client) {
  const std::optional<std::string> head = read_head(client);
  if (!head) return;
  HttpResponse response;
  try {
    response = answer(*head, client, port_, handler_);
  } catch (const std::exception& error) {
    response = refused(500, error.what());
  }
  send_all(client, fmt::format("HTTP/1.1 {} {}\r\n"
                               "Content-Type: {}\r\n"
                               "Content-Length: {}\r\n"
                               "{}{}"
                               "Cache-Control: no-store\r\n"
                               "X-Content-Type-Options: nosniff\r\n"
                               "X-Frame-Options: DENY\r\n"
                               "Referrer-Policy: no-referrer\r\n"
                               "Cross-Origin-Resource-Policy: same-origin\r\n"
                               "Connection: close\r\n\r\n",
                               response.status, reason(response.status), response.type,
                               response.body.size(),
                               response.tag.empty() ? "" : "ETag: " + response.tag + "\r\n",
                               response.status == 405 ? "Allow: GET\r\n" : ""));
  send_all(client, response.body);
}

}  // namespace plimsoll::report
