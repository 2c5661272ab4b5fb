#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::train {

/// Asks a running fit() for another limit and gets its verdict: FitOptions::limit_requests. The run
/// takes what waits here between two steps, where it can make a new plan, and answers once the new
/// limit holds or was refused. Thread-safe.
class LimitRequests {
 public:
  struct Verdict {
    std::string refusal;     ///< why the limit stays as it was; empty: the new one holds
    Bytes before = 0;        ///< the limit when the run looked at the request
    std::int64_t step = 0;   ///< steps finished then
    bool replanned = false;  ///< a new plan was made for it
  };
  struct Request {
    Bytes limit = 0;
    /// False if nobody waits for the answer any more: the request is then dropped.
    std::function<bool()> wanted;
    /// Called in the training thread. Must not throw, and must not keep the run waiting.
    std::function<void(const Verdict& verdict)> answer;
  };

  /// Requests that wait at one time; further ones are turned away.
  static constexpr std::size_t kMost = 16;

  /// False if too many wait already.
  bool post(Request request);

  /// Drops all that wait, unanswered.
  void clear();

  bool waiting() const;
  /// Answers all that wait, in their order.
  void serve(const std::function<Verdict(Bytes limit)>& take);

 private:
  mutable std::mutex mutex_;
  std::vector<Request> waiting_;
};

}  // namespace plimsoll::train
