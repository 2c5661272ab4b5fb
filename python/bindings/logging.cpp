// The library's messages as records of Python's logging.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <nanobind/stl/string.h>

#include <plimsoll/base/log_sink.h>

#include "bind_parts.h"
#include "process.h"

namespace plimsoll::python {
namespace {

constexpr std::size_t kMost = 10'000;  // more at a time are lost: nobody waits for Python

int python_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return 10;
    case LogLevel::info:
      return 20;
    case LogLevel::warning:
      return 30;
  }
  return 30;
}

/// Messages come from threads that may hold locks and must not wait for the GIL: a thread of its
/// own, which begins with the first message, hands them on.
class Messages {
 public:
  void add(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (closed_ || waiting_.size() == kMost) return;
    waiting_.emplace_back(python_level(level), message);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    arrived_.notify_one();
  }

  /// Hands on what is there, and ends the thread. With the GIL.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      arrived_.notify_one();
    }
    const Unlocked unlocked;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    for (;;) {
      std::deque<std::pair<int, std::string>> some;
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        some.swap(waiting_);
      }
      const Locked locked;
      for (const auto& [level, message] : some) {
        try {
          nb::module_::import_("plimsoll._logging").attr("log")(level, message);
        } catch (nb::python_error& error) {
          error.discard_as_unraisable("plimsoll: logging");
        }
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<int, std::string>> waiting_;
  bool closed_ = false;
  std::thread thread_;
};

Messages& messages() {
  static auto* const all = new Messages;  // NOLINT: messages come until the process ends
  return *all;
}

}  // namespace

void bind_logging(nb::module_& m) {
  m.def("_start_logging", [] {
    set_log_sink([](LogLevel level, std::string_view text) { messages().add(level, text); });
  });
  m.def("_stop_logging", [] {
    set_log_sink(nullptr);
    messages().close();
  });
}

}  // namespace plimsoll::python
