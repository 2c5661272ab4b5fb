#include <plimsoll/plan/device_description.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

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

TEST(DeviceDescription, MistakesInAFileAreNamed) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) /
                                     ("device-" + std::to_string(::getpid()) + ".json");
  const auto complaint = [&](const std::string& more) -> std::string {
    std::ofstream(path) << R"({"bytes_per_second": 1e11, "flops_f32": 1e12, "flops_16": 1e13, )"
                        << more << "}";
    try {
      describe_device(path.string());
      return "";
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(complaint(R"("memory": "4GiB")"), "");
  EXPECT_NE(complaint(R"("memory": -5)").find("memory is -5"), std::string::npos);
  EXPECT_NE(complaint(R"("memory": 1e30)").find("memory is"), std::string::npos);
  EXPECT_NE(complaint(R"("memory": 4096, "page_size": 3)").find("power of two"), std::string::npos);
  EXPECT_NE(complaint(R"("memory": 4096, "page_sice": 4)").find("no field 'page_sice'"),
            std::string::npos);
  std::filesystem::remove(path);
  EXPECT_THROW(describe_device(::testing::TempDir()), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::plan
