#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <plimsoll/memory/budget.h>

namespace plimsoll::train {

/// Gives memory of a running training back when a limit is lowered: by a callback of its own
/// thread at once, by another thread at the next step, for which that thread waits.
class LimitRelief {
 public:
  /// `give` frees about so many bytes and returns how many; called in the thread that made this,
  /// between steps only.
  LimitRelief(const Budget& budget, std::function<Bytes(Bytes wanted)> give);
  LimitRelief(const LimitRelief&) = delete;
  LimitRelief& operator=(const LimitRelief&) = delete;
  /// Whoever waits gets nothing.
  ~LimitRelief();

  /// While one is there, the training thread may be asked directly: it is in a callback.
  class Between {
   public:
    explicit Between(LimitRelief& relief) : relief_(relief) { relief_.between_ = true; }
    Between(const Between&) = delete;
    Between& operator=(const Between&) = delete;
    ~Between() { relief_.between_ = false; }

   private:
    LimitRelief& relief_;
  };

  /// Between two steps: does what other threads wait for.
  void serve();
  /// Whether there is such a thing.
  bool wanted();

 private:
  Bytes relieve(Bytes wanted);

  std::function<Bytes(Bytes)> give_;
  const std::thread::id thread_;
  bool between_ = false;  ///< of the training thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Bytes> wanted_;
  std::optional<Bytes> given_;
  bool ended_ = false;
  ReliefHandle handle_;
};

}  // namespace plimsoll::train
