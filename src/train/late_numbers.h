#pragma once

#include <memory>
#include <span>

#include <plimsoll/device/device.h>

namespace plimsoll::train {

/// Numbers of a step that may still be running, in host memory that the device writes them to.
/// Movable; its destruction waits for the device to be through with that memory.
class LateNumbers {
 public:
  LateNumbers() = default;
  LateNumbers(LateNumbers&&) noexcept = default;
  LateNumbers& operator=(LateNumbers&& other) noexcept;
  ~LateNumbers();

  /// Where the number of that index is to be copied to, on the step's stream.
  float* at(std::size_t index) const { return static_cast<float*>(block_.data()) + index; }
  /// All copies are submitted.
  void submitted(const Device& device, StreamId stream) { fence_ = device.fence(stream); }
  /// The numbers, when they have come; valid as long as this. Throws DeviceError where the device
  /// has failed before it wrote them.
  std::span<const float> wait();

 private:
  friend class NumberSheets;
  LateNumbers(Block block, std::size_t count);
  bool written() const;
  void let_go() noexcept;

  Block block_;
  std::size_t count_ = 0;
  std::shared_ptr<Fence> fence_;
};

/// Pinned memory for such numbers, a page or so.
class NumberSheets {
 public:
  /// On `host`'s budget, tag `staging`. Throws OutOfMemory.
  NumberSheets(const Device& device, const Budget& host);

  /// For `count` numbers of a step that is about to be submitted. Throws OutOfMemory.
  LateNumbers take(std::size_t count);

 private:
  Device device_;
  std::unique_ptr<Arena> pinned_;
  Account account_;
  Block page_;  ///< keeps the page from being taken back between steps
};

}  // namespace plimsoll::train
