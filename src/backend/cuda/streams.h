#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include <plimsoll/memory/fence.h>

#include "backend/cuda/context.h"

namespace plimsoll::cuda {

/// A device's streams under the numbers that the memory layer knows them by, and fences in them.
/// Streams live as long as the table. Thread-safe.
class StreamTable final : public FenceSource {
 public:
  explicit StreamTable(std::shared_ptr<Context> context);
  ~StreamTable() override;

  /// A new stream, which does not wait for the driver's default stream.
  StreamId make();

  /// The driver's stream. kHostStream is the calling thread's own, on which a caller waits for
  /// what it has submitted before it returns. Throws InvalidArgument for a number that is none.
  CUstream get(StreamId stream) const;

  /// Waits for the work submitted to `stream`.
  void synchronize(StreamId stream) const;

  std::shared_ptr<Fence> record(StreamId stream) override;

 private:
  class EventPool;
  class EventFence;

  std::shared_ptr<Context> context_;
  std::shared_ptr<EventPool> events_;
  std::shared_ptr<Fence> finished_;  ///< the fence of the host's stream
  mutable std::shared_mutex mutex_;
  std::vector<CUstream> streams_;  ///< stream 1 is the first
};

}  // namespace plimsoll::cuda
