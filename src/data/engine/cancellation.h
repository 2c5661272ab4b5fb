#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include <plimsoll/data/cancel_scope.h>

namespace plimsoll::data {

class Engine;

struct CancelScope::State {
  std::mutex mutex;
  std::set<Engine*> engines;
  std::atomic<bool> cancelled = false;
};

/// A pipeline's place in the scope that its thread was in when it was made, if any.
class Cancellation {
 public:
  explicit Cancellation(Engine& engine);
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  ~Cancellation();

  /// Throws Error if the scope was cancelled.
  void check() const;

 private:
  std::shared_ptr<CancelScope::State> scope_;
  Engine* engine_;
};

}  // namespace plimsoll::data
