// One physical device, one root budget in a process.
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/memory/out_of_memory.h>

#include "base/fake_root.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(OpenDevice, TheCpuGoesByTwoNames) {
  for (const char* name : {"cpu", "cpu:0"}) {
    const Device device = Device::open(name, {.limit = MiB(16)});
    EXPECT_EQ(device.name(), "cpu:0");
    EXPECT_EQ(device.backend().name, "cpu");
    EXPECT_EQ(device.ordinal(), 0);
    EXPECT_EQ(device.budget().name(), "cpu:0");
    EXPECT_EQ(device.budget().limit(), MiB(16));
    EXPECT_EQ(device.runtime(), 0U);
  }
}

TEST(OpenDevice, AgainGivesAHandleOnTheSame) {
  const Device first = Device::open("cpu:0", {.limit = MiB(64)});
  const Device second = Device::open("cpu");
  const Device third = Device::open("cpu:0", {.limit = MiB(64)});
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, third);
  const Block block = first.allocate(MiB(40), Tag::user, "first");
  EXPECT_THROW((void)second.allocate(MiB(40), Tag::user, "second"), OutOfMemory);
  EXPECT_EQ(second.budget().used(), first.budget().used());
}

TEST(OpenDevice, WithAnotherLimitIsRefused) {
  const Device device = Device::open("cpu:0", {.limit = MiB(64)});
  for (const Limit& other : {Limit(MiB(32)), Limit(MiB(128)), Limit::share(0.5)}) {
    EXPECT_THAT([&] { Device::open("cpu", {.limit = other}); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("[Device::open] cpu:0 is already open with a limit of 64 MiB"),
                          HasSubstr("move the limit of its budget"), HasSubstr("split"))));
  }
  EXPECT_THAT([] { Device::open("cpu", {.limit = Bytes{0}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("limit of 0")));
  // What counts is the limit as it is now.
  device.budget().set_limit(MiB(32));
  EXPECT_EQ(Device::open("cpu:0", {.limit = MiB(32)}), device);
  EXPECT_THROW(Device::open("cpu:0", {.limit = MiB(64)}), InvalidArgument);
}

TEST(OpenDevice, TheFirstLimitIsTakenByADefaultThatNobodyOpened) {
  DefaultDevice::reset();
  const Device by_default = DefaultDevice::get();
  const Block block = by_default.allocate(MiB(8), Tag::user, "before");
  EXPECT_THROW(Device::open("cpu:0", {.limit = MiB(4)}), InvalidArgument) << "it has more already";
  const Device device = Device::open("cpu:0", {.limit = MiB(64)});
  EXPECT_EQ(device, by_default);
  EXPECT_EQ(by_default.budget().limit(), MiB(64));
  EXPECT_THROW(Device::open("cpu:0", {.limit = MiB(32)}), InvalidArgument) << "it is stated now";
  DefaultDevice::reset();
}

TEST(OpenDevice, OneThatWasOpenedWithoutALimitKeepsTheOneItHas) {
  const Device device = Device::open("cpu:0");
  EXPECT_EQ(DefaultDevice::get(), device);
  EXPECT_THROW(Device::open("cpu:0", {.limit = MiB(64)}), InvalidArgument);
  DefaultDevice::reset();
}

TEST(OpenDevice, WithOtherOptionsIsRefused) {
  const FakeRoot folder;
  const std::string trace = folder.path() + "/trace.csv";
  const Device device =
      Device::open("cpu:0", {.limit = MiB(64), .page_size = KiB(64), .trace = trace});
  for (const DeviceOptions& other :
       {DeviceOptions{.limit = MiB(64), .preallocate = true}, DeviceOptions{.page_size = KiB(4)},
        DeviceOptions{.trace = "/elsewhere.csv"}}) {
    EXPECT_THAT(
        [&] { Device::open("cpu", other); },
        ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("already open"), HasSubstr("split"))));
  }
  EXPECT_EQ(Device::open("cpu", {.page_size = KiB(64), .trace = trace}), device);
}

TEST(OpenDevice, ClosesWithItsLastHandle) {
  std::vector<Device> handles = {Device::open("cpu:0", {.limit = MiB(64)})};
  handles.push_back(handles[0]);
  handles.erase(handles.begin());
  {
    // A session, a logical device and a budget's arena are handles, too.
    std::vector<Device> parts = handles[0].split({MiB(8)});
    const Session session = handles[0].session("s");
    handles.clear();
    EXPECT_THROW(Device::open("cpu", {.limit = MiB(16)}), InvalidArgument);
    parts.clear();
    EXPECT_THROW(Device::open("cpu", {.limit = MiB(16)}), InvalidArgument);
  }
  EXPECT_EQ(Device::open("cpu", {.limit = MiB(16)}).budget().limit(), MiB(16));
}

TEST(OpenDevice, ARefusedOneIsNotOpen) {
  EXPECT_THROW(Device::open("cpu", {.limit = MiB(16), .page_size = 3000}), InvalidArgument);
  EXPECT_THROW(Device::open("cpu", {.limit = MiB(16), .trace = "/nonexistent/t.csv"}), Error);
  EXPECT_EQ(Device::open("cpu", {.limit = MiB(24)}).budget().limit(), MiB(24));
}

TEST(OpenDevice, ItsLimitCannotBeRaisedAboveWhatThereIs) {
  const Device device = Device::open("cpu:0", {.limit = MiB(16)});
  const Bytes total = device.info().total;
  EXPECT_THAT([&] { device.budget().set_limit(total + 1); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("cpu:0"), HasSubstr("in all"))));
  EXPECT_THROW(device.budget().set_limit(kUnlimited), InvalidArgument);
  EXPECT_NO_THROW(device.budget().set_limit(total));
}

TEST(OpenDevice, ThreadsOpenOneAndTheSame) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        // Never two at a time: together they would have more than the limit.
        const Device device = Device::open("cpu:0", {.limit = MiB(8)});
        const Block block = device.allocate(KiB(64), Tag::user, "x");
        EXPECT_LE(device.budget().used(), MiB(8));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(MovedFrom, DevicesSessionsAndBudgetsSaySo) {
  Device device = Device::open("cpu:0", {.limit = MiB(16)});
  Session session = device.session("s");
  Budget budget = device.budget();
  Block block = device.allocate(KiB(1), Tag::user, "x");
  const Device other_device = std::move(device);
  const Session other_session = std::move(session);
  const Budget other_budget = std::move(budget);
  const Block other_block = std::move(block);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tried
  const auto moved = [](const char* type) {
    return ThrowsMessage<InvalidArgument>(
        AllOf(HasSubstr(std::string("[") + type + "::"), HasSubstr("was moved from")));
  };
  EXPECT_THAT([&] { (void)device.name(); }, moved("Device"));
  EXPECT_THAT([&] { (void)device.allocate(1, Tag::user, "x"); }, moved("Device"));
  EXPECT_THAT([&] { (void)device.split({MiB(1)}); }, moved("Device"));
  EXPECT_THAT([&] { (void)device.session("t"); }, moved("Device"));
  EXPECT_THAT([&] { device.synchronize(); }, moved("Device"));
  EXPECT_THAT([&] { const DeviceScope scope(device); }, moved("Device"));
  EXPECT_NO_THROW(device.release_stream(kHostStream));
  EXPECT_FALSE(device == other_device);
  EXPECT_THAT([&] { (void)session.device(); }, moved("Session"));
  EXPECT_THAT([&] { (void)session.budget(); }, moved("Session"));
  EXPECT_NO_THROW(session.close());
  EXPECT_THAT([&] { (void)budget.used(); }, moved("Budget"));
  EXPECT_THAT([&] { budget.set_limit(1); }, moved("Budget"));
  EXPECT_THAT([&] { (void)budget.child("c"); }, moved("Budget"));
  EXPECT_THAT([&] { (void)budget.charge(Tag::user, "x", 1); }, moved("Budget"));
  EXPECT_FALSE(budget == other_budget);
  EXPECT_EQ(block.data(), nullptr);
  EXPECT_EQ(block.size(), 0U);
  EXPECT_NO_THROW(block.record_use(kHostStream));
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
}  // namespace plimsoll
