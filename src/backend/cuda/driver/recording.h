#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include <plimsoll/device/device.h>

#include "backend/cuda/driver/context.h"

namespace plimsoll::cuda {

/// The driver's memory for the recordings of a device. It keeps what it has taken and uses it for
/// the next ones, so that only the most there ever is at once counts. Thread-safe.
class RecordingRoom {
 public:
  /// That of a device, for as long as the process lives.
  static std::shared_ptr<RecordingRoom> of(int ordinal);

  /// Makes room for a recording of `nodes`; `take` is asked to charge what goes beyond `paid`.
  /// False: it refused.
  bool enter(std::size_t nodes, const std::function<bool(Bytes)>& take);
  void leave(std::size_t nodes) noexcept;
  /// What was taken beyond `paid`.
  Bytes beyond() const;

 private:
  /// Of what a device pays at its opening, see kTakenLater.
  static constexpr Bytes kPaid = MiB(12);

  mutable std::mutex mutex_;
  Bytes used_ = 0;
  Bytes taken_ = kPaid;
};

/// What `work` submits to `stream`, as a graph of the driver's; null if `room` has none for it. The
/// calling thread may not synchronise meanwhile; other threads may do what they like. Throws
/// DeviceError, or what `work` throws; then nothing is left of it.
std::unique_ptr<Recording> make_recording(std::shared_ptr<Context> context, CUstream stream,
                                          const std::function<void()>& work,
                                          const std::shared_ptr<RecordingRoom>& room,
                                          const std::function<bool(Bytes)>& take);

}  // namespace plimsoll::cuda
