#include <plimsoll/plan/device_description.h>

#include <gtest/gtest.h>

namespace plimsoll::plan {
namespace {

TEST(DeviceDescription, ADriversNameIsFoundByWholeWords) {
  EXPECT_EQ(known_device("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(known_device("NVIDIA GeForce RTX 3090"), "rtx3090");
  EXPECT_EQ(known_device("NVIDIA L4"), "l4");
  EXPECT_EQ(known_device("NVIDIA L40S"), "");
  EXPECT_EQ(known_device("NVIDIA L40"), "");
  EXPECT_EQ(known_device("Tesla T4"), "t4");
  EXPECT_EQ(known_device("NVIDIA T400"), "");
  EXPECT_EQ(known_device("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(known_device("NVIDIA H200"), "h200");
  EXPECT_EQ(known_device("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(known_device("NVIDIA A100-SXM4-40GB"), "a100-40g");
  EXPECT_EQ(known_device("Tesla V100-SXM2-16GB"), "v100");
  EXPECT_EQ(known_device(""), "");
  EXPECT_EQ(known_device(" - "), "");
}

TEST(DeviceDescription, EveryKnownNameIsItsOwn) {
  for (const std::string& name : known_devices()) {
    if (name != "cpu") {
      EXPECT_EQ(known_device(name), name);
    }
  }
}

}  // namespace
}  // namespace plimsoll::plan
