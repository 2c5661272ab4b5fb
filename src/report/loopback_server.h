#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace plimsoll::report {

struct HttpRequest {
  std::string path;           ///< with a leading "/", without the query
  std::string query;          ///< after "?", or empty
  bool other_origin = false;  ///< a page from elsewhere asks
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string tag = {};  ///< ETag
};

/// Answers GET on 127.0.0.1, from a thread of its own, one connection after the other; a client
/// that is slow is given up after two seconds. Anything that is not a plain GET for this very
/// address is refused before the handler is asked: other methods (405), other hosts (421, a name
/// that was pointed here), other users of this machine (403), long heads (431).
class LoopbackServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  /// Port 0: any free one. Error naming the port if it cannot be had.
  LoopbackServer(int port, Handler handler);
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  int port() const { return port_; }

 private:
  void run();
  void serve(int client);

  Handler handler_;
  int socket_ = -1;
  int stop_ = -1;  ///< readable when it is to end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace plimsoll::report
