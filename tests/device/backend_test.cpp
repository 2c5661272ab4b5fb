#include <plimsoll/device/backend.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// One without devices.
Backend empty(const std::string& name) {
  return {.name = name,
          .title = "nothing",
          .count =
              [](std::string& why) {
                why = "there is nothing";
                return 0;
              },
          .describe = [](int) { return DeviceInfo{}; },
          .open = [](int, const DeviceOptions&) { return std::shared_ptr<DeviceBackend>(); }};
}

TEST(Backends, TheCpuIsFirstAndTheOthersFollowByName) {
  const auto all = backends();
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all.front()->name, "cpu");
  for (std::size_t i = 2; i < all.size(); ++i) EXPECT_LT(all[i - 1]->name, all[i]->name);
}

TEST(Backends, AreFoundByTheirNameAndByTheirDevices) {
  const Backend* cpu = find_backend("cpu");
  ASSERT_NE(cpu, nullptr);
  EXPECT_TRUE(cpu->capabilities.host_memory);
  EXPECT_EQ(backend_of("cpu:0"), cpu);
  EXPECT_EQ(backend_of("cpu"), cpu);
  EXPECT_EQ(backend_of("cpu:0/1"), cpu);
  EXPECT_EQ(backend_of("h200"), nullptr);
  EXPECT_EQ(backend_of(""), nullptr);
}

TEST(Backends, WhatGpusCanDoIsKnownWithoutOne) {
  const Backend* cuda = find_backend("cuda");
  ASSERT_NE(cuda, nullptr);
  EXPECT_FALSE(cuda->capabilities.host_memory);
  EXPECT_TRUE(cuda->capabilities.gpu_kernels);
}

TEST(Backends, ANameIsTakenOnce) {
  EXPECT_THAT([] { register_backend(empty("cpu")); },
              ThrowsMessage<InvalidArgument>(HasSubstr("there already is a backend cpu")));
  for (const char* name : {"", "CPU", "a:b", "a b"}) {
    EXPECT_THROW(register_backend(empty(name)), InvalidArgument) << name;
  }
}

TEST(Backends, OneThatCannotBeOpenedIsRefused) {
  Backend half = empty("half");
  half.open = nullptr;
  EXPECT_THAT([&] { register_backend(half); },
              ThrowsMessage<InvalidArgument>(HasSubstr("lacks count, describe or open")));
  EXPECT_EQ(find_backend("half"), nullptr);
}

TEST(Backends, OneWithoutDevicesSaysWhy) {
  if (find_backend("nothing") == nullptr) register_backend(empty("nothing"));
  std::map<std::string, std::string> missing;
  list_devices(&missing);
  EXPECT_EQ(missing["nothing"], "there is nothing");
  EXPECT_THAT([] { Device::open("nothing:0"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no nothing: there is nothing")));
}

}  // namespace
}  // namespace plimsoll
