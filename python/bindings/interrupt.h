#pragma once

#include <functional>
#include <list>

#include <plimsoll/data/cancel_scope.h>

#include "process.h"

namespace plimsoll::python {

/// A wait that Ctrl-C ends. While the object lives, in the main thread, an interrupt calls `cancel`
/// from a thread of its own; check() then raises KeyboardInterrupt. A program that has a handler of
/// its own for SIGINT is left alone.
///
///   const Interruptible wait([&] { pipeline.cancel(); });
///   { const Unlocked unlocked; element = pipeline.next(); }
///   wait.check();
///
/// The constructor, check() and the destructor need the GIL.
class Interruptible {
 public:
  /// Raises at once what was interrupted before.
  explicit Interruptible(std::function<void()> cancel);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

  /// Raises KeyboardInterrupt if there was one.
  void check() const;

 private:
  bool active_ = false;
  std::list<std::function<void()>>::iterator place_;
};

/// What `run` gives, computed without the GIL. Ctrl-C ends the pipelines that it makes, and raises
/// KeyboardInterrupt.
template <typename Run>
auto run_interruptibly(Run&& run) {
  data::CancelScope scope;
  const Interruptible wait([&] { scope.cancel(); });
  auto result = [&] {
    try {
      const Unlocked unlocked;
      return run();
    } catch (...) {
      wait.check();
      throw;
    }
  }();
  wait.check();
  return result;
}

}  // namespace plimsoll::python
