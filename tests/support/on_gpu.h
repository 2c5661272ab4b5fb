#pragma once

#include <string>

#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>

#include "support/own_device.h"

namespace plimsoll::test {

/// For tests of what a GPU computes: skipped with the reason where there is none.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
  }

  static const Device& gpu() {
    static const Device device = test::own_device("cuda:0", {.limit = GiB(16)});
    return device;
  }
};

}  // namespace plimsoll::test
