#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// What stands in a tensor that has no data: a value of a trace, or a parameter that is declared
/// but not yet allocated. The trace derives from it.
class Symbol {
 public:
  virtual ~Symbol() = default;
  /// For messages: "output 0 of matmul in block3".
  virtual std::string describe() const = 0;
};

class Tensor;

/// Told of every view and copy made by this thread, while it is set. A gradient tape uses it to
/// refuse views of tensors it follows, whose gradient would silently be lost, and to record copies.
class ViewListener {
 public:
  virtual ~ViewListener() = default;
  /// Before a view of the tensor `id` is made by Tensor::`function`. May throw.
  virtual void on_view(std::uint64_t id, const char* function) = 0;
  /// After `to` was made with the elements of `from`, on any device.
  virtual void on_copy(const Tensor& from, const Tensor& to) = 0;

  /// The one of this thread; null if there is none.
  static ViewListener* current();
  /// Sets it and returns the one before.
  static ViewListener* set_current(ViewListener* listener);
};

/// While it lives, no listener of this thread is told anything.
class NoViewListener {
 public:
  NoViewListener() : before_(ViewListener::set_current(nullptr)) {}
  NoViewListener(const NoViewListener&) = delete;
  NoViewListener& operator=(const NoViewListener&) = delete;
  ~NoViewListener() { ViewListener::set_current(before_); }

 private:
  ViewListener* before_;
};

}  // namespace plimsoll
