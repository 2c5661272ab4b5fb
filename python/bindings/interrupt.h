#pragma once

#include <functional>
#include <list>

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

}  // namespace plimsoll::python
