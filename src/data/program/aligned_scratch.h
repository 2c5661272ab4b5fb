#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/image/scratch.h>

namespace plimsoll::data {

/// Scratch memory of a call, aligned as kernels want it; null if there are no bytes.
class AlignedScratch {
 public:
  /// What it may take more than it was asked for.
  static constexpr Bytes kAlignment = 256;

  /// Throws OutOfMemory.
  AlignedScratch(image::Scratch& scratch, Bytes bytes) : scratch_(scratch) {
    if (bytes == 0) return;
    block_ = scratch_.allocate(bytes + kAlignment);
    const auto address = reinterpret_cast<std::uintptr_t>(block_);
    aligned_ = reinterpret_cast<void*>(align_up(address, kAlignment));
  }
  AlignedScratch(const AlignedScratch&) = delete;
  AlignedScratch& operator=(const AlignedScratch&) = delete;
  ~AlignedScratch() {
    if (block_ != nullptr) scratch_.free(block_);
  }
  void* data() const { return aligned_; }

 private:
  image::Scratch& scratch_;
  void* block_ = nullptr;
  void* aligned_ = nullptr;
};

}  // namespace plimsoll::data
