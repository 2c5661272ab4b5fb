#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>

namespace plimsoll::test {

/// For tests of what a GPU computes: skipped with the reason where there is none.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_module(&why) == nullptr) GTEST_SKIP() << why;
  }

  static const Device& gpu() {
    static const Device device = Device::open("cuda:0", {.limit = GiB(16)});
    return device;
  }
};

/// What the driver says this process holds, at its highest, looked at every millisecond; 0 where it
/// does not tell.
class DriverPeak {
 public:
  explicit DriverPeak(const Device& device)
      : thread_([this, device] {
          while (!done_) {
            peak_ = std::max<Bytes>(peak_, device.process_used().value_or(0));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
