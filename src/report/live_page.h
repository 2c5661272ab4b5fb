#pragma once

#include <mutex>
#include <optional>
#include <string>

#include <plimsoll/report/run.h>

#include "report/loopback_server.h"

namespace plimsoll::report {

/// The page of a run that goes on, on the loopback address behind a token.
class LivePage {
 public:
  explicit LivePage(int port);

  /// Where it is.
  const std::string& address() const { return address_; }
  /// What is shown from now on.
  void show(const Run& run);

 private:
  HttpResponse answer(const HttpRequest& request);

  std::mutex mutex_;
  std::string name_;
  std::string data_;
  std::int64_t version_ = 0;
  std::string token_;
  std::optional<LoopbackServer> server_;
  std::string address_;
};

}  // namespace plimsoll::report
