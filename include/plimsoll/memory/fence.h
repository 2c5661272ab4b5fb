#pragma once

#include <cstdint>
#include <memory>

namespace plimsoll {

/// Names a queue of work on a device. Work on one stream runs in order. kHostStream is the calling
/// thread itself: whatever it did is already done.
using StreamId = std::uint32_t;
inline constexpr StreamId kHostStream = 0;

/// A point in a stream's work.
class Fence {
 public:
  virtual ~Fence() = default;
  /// True once all work recorded before the fence has finished. Does not block.
  virtual bool done() = 0;
  /// Blocks until done() is true.
  virtual void wait() = 0;
};

/// The fence of work that is done: what the host's stream has.
std::shared_ptr<Fence> passed_fence();

/// Records fences. Called with an arena's lock held, so an implementation must not call back into
/// the memory layer.
class FenceSource {
 public:
  virtual ~FenceSource() = default;
  /// A fence after everything submitted to `stream` so far. Null while that cannot be had, because
  /// what is submitted is being recorded; ask again later. May throw DeviceError.
  virtual std::shared_ptr<Fence> record(StreamId stream) = 0;
};

}  // namespace plimsoll
