#pragma once

#include <optional>
#include <utility>

#include <plimsoll/device/device.h>

namespace plimsoll {

/// A stream of a device's that goes back with the object. Movable; one that was made from nothing,
/// or moved from, is the host's.
class OwnedStream {
 public:
  OwnedStream() = default;
  /// Throws DeviceError.
  explicit OwnedStream(const Device& device) : device_(device), id_(device.make_stream()) {}
  OwnedStream(OwnedStream&& other) noexcept
      : device_(std::exchange(other.device_, std::nullopt)),
        id_(std::exchange(other.id_, kHostStream)) {}
  OwnedStream& operator=(OwnedStream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~OwnedStream() {
    if (device_) device_->release_stream(id_);
  }

  StreamId id() const { return id_; }

 private:
  std::optional<Device> device_;
  StreamId id_ = kHostStream;
};

}  // namespace plimsoll
