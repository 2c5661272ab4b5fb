#pragma once

#include <cstddef>
#include <cstdint>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/image/scratch.h>

namespace plimsoll::image {

/// One block of scratch, handed out piece by piece and given back whole. It never grows: what does
/// not fit is refused, so the figure stated beforehand is a bound by construction.
class Workspace {
 public:
  /// Takes `bytes` from `scratch`. Throws OutOfMemory.
  Workspace(Scratch& scratch, Bytes bytes);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  /// Uninitialised memory at a multiple of kAlignment, or null if it does not fit.
  void* take(Bytes bytes) noexcept;

  /// The same for `count` objects; throws InternalError if it does not fit.
  template <class T>
  T* take_array(std::size_t count) {
    return static_cast<T*>(take_or_throw(count * sizeof(T)));
  }

  Bytes used() const { return used_; }

  static constexpr Bytes kAlignment = 64;

  /// What `bytes` cost, alignment included.
  static constexpr Bytes cost(Bytes bytes) { return align_up(bytes, kAlignment); }
  /// What to add for the block itself.
  static constexpr Bytes kOverhead = kAlignment;

 private:
  void* take_or_throw(Bytes bytes);

  Scratch& scratch_;
  void* block_;
  std::byte* begin_;
  Bytes size_;
  Bytes used_ = 0;
};

}  // namespace plimsoll::image
