#include "report/live_page.h"

#include <sys/random.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/report/html.h>

#include "report/page_data.h"

namespace plimsoll::report {
namespace {

std::string random_token() {
  std::array<unsigned char, 16> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error("[watch] the system gives no random numbers for the page's token");
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

/// In a time that does not tell how much of it was right.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

LivePage::LivePage(int port) : token_(random_token()) {
  server_.emplace(port, [this](const HttpRequest& request) { return answer(request); });
  address_ = fmt::format("http://127.0.0.1:{}/{}/", server_->port(), token_);
}

void LivePage::show(const Run& run) {
  std::string data = html_data({&run, 1}, {.live = true});
  const std::lock_guard lock(mutex_);
  name_ = run.name;
  data_ = std::move(data);
  ++version_;
}

HttpResponse LivePage::answer(const HttpRequest& request) {
  if (request.other_origin) return {.status = 403, .body = "other pages are not answered\n"};
  const std::size_t slash = request.path.find('/', 1);
  if (slash == std::string::npos || !same(request.path.substr(1, slash - 1), token_)) {
    return {.status = 404, .body = "the address has no valid token; `plimsoll watch` prints it\n"};
  }
  const std::string rest = request.path.substr(slash + 1);
  const std::lock_guard lock(mutex_);
  const std::string tag = fmt::format("\"{}\"", version_);
  if (rest.empty()) {
    return {.type = "text/html; charset=utf-8",
            .body = html_around(data_, name_, {.live = true}),
            .tag = tag};
  }
  if (rest != "data.json") return {.status = 404, .body = "there is nothing here\n"};
  // The browser writes the quotes as %22.
  if (request.query == fmt::format("after=%22{}%22", version_)) return {.status = 304, .tag = tag};
  return {.type = "application/json", .body = data_, .tag = tag};
}

}  // namespace plimsoll::report
