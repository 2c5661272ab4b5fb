#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <plimsoll/base/shape.h>

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

/// A view that is about to be made, as one of three that stand for all of them.
struct ViewOf {
  enum class Kind : std::uint8_t { reshape, slice, permute };
  Kind kind = Kind::reshape;
  Shape shape = {};        ///< of the result: of a reshape
  int dim = 0;             ///< from the front: of a slice,
  std::int64_t begin = 0;  ///< with bounds from the front
  std::int64_t end = 0;
  std::int64_t step = 1;
  std::span<const int> order = {};  ///< from the front: of a permutation
};

/// Told of every view and copy made by this thread, while it is set. Whoever records ops (a
/// gradient tape, a trace) uses it so that neither is lost: views of what is recorded become ops.
class ViewListener {
 public:
  virtual ~ViewListener() = default;
  /// Before a view of `tensor`, which may have no data, is made. A defined result takes its place.
  virtual Tensor on_view(const Tensor& tensor, const ViewOf& view) = 0;
  /// Whether `tensor`, which has no data, is a value that is computed later. As nobody writes to
  /// such a value, a copy of it is the value itself.
  virtual bool computes(const Tensor& tensor) const = 0;
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
