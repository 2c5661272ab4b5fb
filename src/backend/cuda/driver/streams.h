#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include <plimsoll/device/device.h>
#include <plimsoll/memory/fence.h>

#include "backend/cuda/driver/context.h"

namespace plimsoll::cuda {

/// A device's streams under the numbers that the memory layer knows them by, and fences in them.
/// Streams live as long as the table. Thread-safe.
class StreamTable final : public FenceSource {
 public:
  explicit StreamTable(std::shared_ptr<Context> context);
  ~StreamTable() override;

  /// A new stream, which does not wait for the driver's default stream.
  StreamId make();
  /// Kept for the next make(); streams are never destroyed before the table.
  void release(StreamId stream) noexcept;

  /// The driver's stream. kHostStream is the calling thread's own, on which a caller waits for
  /// what it has submitted before it returns. Throws InvalidArgument for a number that is none.
  CUstream get(StreamId stream) const;

  /// Waits for the work submitted to `stream`, or to all. While another thread records a stream,
  /// that is waited for; DeviceError if this one does.
  void synchronize(StreamId stream) const;
  void synchronize() const;

  /// For arenas, whichever thread is short of memory. Null while the stream is being recorded: the
  /// fence would become part of that.
  std::shared_ptr<Fence> record(StreamId stream) override;

  /// See Device; for the thread that submits the stream's work.
  std::shared_ptr<Fence> fence(StreamId stream);
  void wait(StreamId stream, Fence& fence) const;
  std::unique_ptr<StreamTimer> make_timer(StreamId stream) const;

  /// While it lives, the calling thread records the stream. Made before that begins.
  class Capture {
   public:
    Capture(StreamTable& table, StreamId stream);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture();

   private:
    StreamTable& table_;
    const StreamId stream_;
  };

 private:
  class EventPool;
  class EventFence;

  // With captures_ held.
  bool is_captured(StreamId stream) const;
  void refuse_if_mine() const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<EventPool> events_;
  std::shared_ptr<Fence> passed_;  ///< the fence of the host's stream
  mutable std::shared_mutex mutex_;
  std::vector<CUstream> streams_;  ///< stream 1 is the first
  std::vector<StreamId> free_;     ///< released ones
  mutable std::shared_mutex captures_;
  mutable std::condition_variable_any ended_;                   ///< a capture, or waiting for all
  mutable int synchronizing_ = 0;                               ///< threads that wait for all
  std::vector<std::pair<StreamId, std::thread::id>> captured_;  ///< being recorded, and by whom
};

}  // namespace plimsoll::cuda
