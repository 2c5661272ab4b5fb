#pragma once

#include <memory>

#include <plimsoll/memory/arena.h>

namespace plimsoll {

/// malloc and free on an arena, for libraries whose hooks know only pointers (libjpeg, zstd,
/// libpng). Everything still allocated is released with the heap. Thread-safe.
class Heap {
 public:
  Heap(Arena& arena, Account account);
  ~Heap();

  /// Throws OutOfMemory. Zero bytes give a unique pointer, too.
  void* allocate(Bytes bytes);

  /// `pointer` must be null or come from allocate(); anything else throws InvalidArgument naming
  /// it, and changes nothing.
  void free(void* pointer);

  /// Bytes allocated now.
  Bytes live() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
