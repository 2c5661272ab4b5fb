#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <plimsoll/device/device.h>

namespace plimsoll::test {

/// What the system says this process holds on a device (see Device::use), at its highest, looked at
/// again and again until stop().
class DriverPeak {
 public:
  explicit DriverPeak(const Device& device,
                      std::chrono::milliseconds every = std::chrono::milliseconds(10))
      : thread_([this, device, every] {
          while (!done_) {
            peak_ = std::max<Bytes>(peak_, device.use().bytes);
            std::this_thread::sleep_for(every);
          }
        }) {}
  ~DriverPeak() { (void)stop(); }
  DriverPeak(const DriverPeak&) = delete;
  DriverPeak& operator=(const DriverPeak&) = delete;

  Bytes stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

 private:
  std::atomic<bool> done_{false};
  std::atomic<Bytes> peak_{0};
  std::thread thread_;
};

}  // namespace plimsoll::test
