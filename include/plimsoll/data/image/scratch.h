#pragma once

#include <plimsoll/base/bytes.h>

namespace plimsoll {
class Heap;
}

namespace plimsoll::image {

/// Where decoding takes its temporary memory from. Every decode takes one block and gives it back
/// before it returns or throws; its size is known beforehand (decode_scratch, load_scratch).
///
/// One Scratch may serve several threads if its implementation is thread-safe.
class Scratch {
 public:
  virtual ~Scratch() = default;

  /// At least `bytes` bytes, never null; any alignment will do. Throws OutOfMemory.
  virtual void* allocate(Bytes bytes) = 0;

  /// `pointer` comes from allocate() of the same object.
  virtual void free(void* pointer) noexcept = 0;
};

/// Scratch from a heap on an arena, so that decoding stays inside that arena's budget.
/// Thread-safe. The heap must outlive it.
class HeapScratch final : public Scratch {
 public:
  explicit HeapScratch(Heap& heap) : heap_(heap) {}
  void* allocate(Bytes bytes) override;
  void free(void* pointer) noexcept override;

 private:
  Heap& heap_;
};

}  // namespace plimsoll::image
