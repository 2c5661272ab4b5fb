#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <plimsoll/report/run.h>
#include <plimsoll/train/callbacks.h>

namespace plimsoll::report {

/// A log that is still being written, read a little at a time. One thread at a time.
class LogFollower {
 public:
  /// Waits for nothing: a file that is not there yet has no lines.
  explicit LogFollower(std::string path);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower();

  /// Reads what was added since; true if there was something. A file that was replaced, or in which
  /// another run has begun, is read anew.
  bool update();
  /// As far as it was read. `state` is running while the process is there and writes.
  const Run& run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct WatchOptions {
  enum class Style : std::uint8_t { automatic, screen, lines };
  /// automatic: a picture that is drawn again if `out` is a terminal that can, else lines.
  Style style = Style::automatic;
  std::FILE* out = stdout;
  /// Also serve the page on the loopback address; 0: any free port; below 0: do not.
  int http_port = -1;
  /// Set by another thread or a signal handler: watch() returns.
  const std::atomic<bool>* stop = nullptr;
};

/// Shows a run while it goes on, from its log, and returns when it has ended. The run does not
/// notice: all that is shared with it is the file.
///
/// The page is at http://127.0.0.1:PORT/TOKEN/, which is printed; without the token, from another
/// origin, another user or with another method than GET there is no answer but a refusal.
void watch(const std::string& log, const WatchOptions& options = {});

/// Serves the figures of a run to Prometheus: http://127.0.0.1:PORT/metrics, in its text format,
/// base units, one line per device and tag at most. Reading them never waits for the run, nor the
/// run for a reader.
class MetricsServer {
 public:
  /// 0: any free port. Error if the port is taken.
  explicit MetricsServer(int port);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  int port() const;
  /// For FitOptions::callbacks; the server outlives the fit.
  train::Callback callback();
  /// What a reader gets now.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::report
