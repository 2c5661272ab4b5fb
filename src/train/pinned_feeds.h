#pragma once

#include <memory>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::train {

/// Copies of batches in memory that a device's copy engines reach: what lies elsewhere on the host
/// is copied by the driver, for which the host waits until the device has come that far.
class PinnedFeeds {
 public:
  /// Memory is of `host`, tag `staging`.
  PinnedFeeds(const Device& device, const Device& host);

  /// A copy of `tensor` for work on `stream`; or `tensor` itself, where it is not the host's, or
  /// where the host's budget has not plenty left for it.
  Tensor stage(const Tensor& tensor, StreamId stream);

 private:
  Device device_;
  Device host_;
  std::unique_ptr<Arena> pinned_;
  Account account_;
};

}  // namespace plimsoll::train
