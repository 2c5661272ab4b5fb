#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/device/device.h>
#include <plimsoll/device/owned_stream.h>

#include "data/engine/engine.h"

namespace plimsoll::data {

/// Sends elements to a device without waiting: each is copied into a pinned buffer, and from there
/// by a copy stream of the ring's own. What it gives comes with a fence, see Storage::data_on.
///
/// A buffer is used again when its copy is done; with all of them in use, send() waits for the
/// first. Buffers are of the pipeline's budget, tag `staging`, as long as that leaves the others
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

  /// Waits for copies under way and gives all buffers back; returns their bytes.
  Bytes release();

  /// Bytes of the buffers now.
  Bytes bytes() const;

 private:
  struct Slot {
    Block block;
    std::shared_ptr<Fence> fence;  ///< null: free
  };

  /// A buffer of `bytes` that nobody reads; null if there is none to be had.
  Slot* take(Bytes bytes);
  bool grow(Slot& slot, Bytes bytes);

  const Engine& engine_;
  const Device device_;
  const std::size_t most_;
  const std::string title_;
  const OwnedStream stream_;
  TensorOptions options_;
  std::unique_ptr<Arena> pinned_;  ///< while there are buffers
  std::vector<Slot> slots_;        ///< in the order of their last use
};

}  // namespace plimsoll::data
