#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/device/device.h>
#include <plimsoll/device/owned_stream.h>

#include "data/engine/pinned_memory.h"

namespace plimsoll::data {

/// Sends elements to a device without waiting, by a copy stream of the ring's own: from where they
/// are if that is pinned memory, else from a pinned buffer that they are copied into first. What it
/// gives comes with a fence, see Storage::data_on.
///
/// With so many on their way, send() waits for the first; a buffer is used again when its copy is
/// done. Buffers are of the pipeline's budget, tag `staging`, as long as that leaves the others
/// what they need; without any, elements are copied as they are and waited for. For one thread at a
/// time.
class StagingRing {
 public:
  /// At most `slots` elements on their way at once. `title` labels what it holds here; what it
  /// takes on `device` is by `options`, whose stream is the ring's.
  StagingRing(const Engine& engine, Device device, std::size_t slots, std::string title,
              TensorOptions options);
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;
  ~StagingRing();

  /// The element with its numbers on the device; scalars and byte strings stay. Throws OutOfMemory
  /// where the device has no room; then nothing has happened.
  Element send(const Element& element);

  /// Waits for copies under way and gives all pinned memory back that nobody uses; returns its
  /// bytes.
  Bytes release();

  /// Where elements can be made, to be sent without another copy.
  const std::shared_ptr<PinnedMemory>& memory() const { return memory_; }

 private:
  struct Slot {
    Block block;                   ///< empty for an element that needs none
    std::shared_ptr<Fence> fence;  ///< null: free
  };

  /// A slot that is free, with a buffer of `bytes` that nobody reads; null if there is none to be
  /// had.
  Slot* take(Bytes bytes);
  bool grow(Slot& slot, Bytes bytes);

  const Device device_;
  const std::size_t most_;
  const OwnedStream stream_;
  TensorOptions options_;
  const std::shared_ptr<PinnedMemory> memory_;
  std::vector<Slot> slots_;  ///< in the order of their last use
};

}  // namespace plimsoll::data
