#pragma once

#include <memory>
#include <mutex>

#include <plimsoll/base/bytes.h>

namespace plimsoll::cuda {

/// The driver's memory for programs that were compiled at run time, of one device: what is loaded
/// now, and what opening the device has paid for. Thread-safe.
class ProgramRoom {
 public:
  /// Of what a device pays at its opening, see kTakenLater.
  static constexpr Bytes kPaid = MiB(2);

  /// That of a device, for as long as the process lives.
  static std::shared_ptr<ProgramRoom> of(int ordinal);

  /// Takes `bytes` of what was paid at the opening; false if so many are not left.
  bool enter(Bytes bytes);
  void leave(Bytes bytes) noexcept;

 private:
  std::mutex mutex_;
  Bytes used_ = 0;
};

}  // namespace plimsoll::cuda
