#include <plimsoll/device/device.h>

#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/memory/out_of_memory.h>

#include "base/fake_root.h"
#include "device/device_state.h"
#include "device/fake_backend.h"
#include "device/shadow_memory.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Device open_cpu(Bytes limit) { return test::own_cpu({.limit = limit}); }

Bytes used_by(const Device& device) { return device.budget().used(); }

TEST(OpenDevice, UnknownNamesAreRefusedWithWhatThereIs) {
  for (const char* name : {"", "gpu:0", "cpu:1", "cpu:", "cpu:00", "cpu:-0", "cpu:0 ", " cpu",
                           "CPU", "cpu0", "cpu:0/0", "cuda:x", "cuda:-1", "cuda:01",
                           "cuda:", "cuda:9999", "cuda:99999999999999999999", "cudax"}) {
    EXPECT_THAT([&] { Device::open(name); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("\"" + std::string(name) + "\""), HasSubstr("cpu:0"))))
        << name;
  }
}

TEST(OpenDevice, WithoutCudaTheMessageSaysWhy) {
  std::map<std::string, std::string> missing;
  const auto devices = list_devices(&missing);
  if (devices.size() > 1) GTEST_SKIP() << "this machine has CUDA";
  ASSERT_FALSE(missing["cuda"].empty());
  EXPECT_THAT([] { Device::open("cuda:0"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no CUDA: " + missing["cuda"])));
}

TEST(ListDevices, StartsWithTheCpu) {
  const auto devices = list_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].name, "cpu:0");
  EXPECT_EQ(devices[0].total, host_memory().total);
  EXPECT_GT(devices[0].free.value(), 0U);
  EXPECT_FALSE(devices[0].description.empty());
}

TEST(OpenDevice, ImpossibleLimitsAreRefused) {
  const Bytes total = host_memory().total;
  EXPECT_THAT([] { open_cpu(0); }, ThrowsMessage<InvalidArgument>(HasSubstr("limit of 0")));
  EXPECT_THAT([&] { open_cpu(total + 1); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("cpu:0"), HasSubstr("in all"))));
  EXPECT_THROW(open_cpu(kUnlimited), InvalidArgument);
  EXPECT_NO_THROW(open_cpu(total));
}

TEST(OpenDevice, ALimitCanBeAShare) {
  const Device device = Device::open("cpu", {.limit = Limit::share(0.25)});
  EXPECT_NEAR(static_cast<double>(device.budget().limit()),
              static_cast<double>(host_memory().total) / 4, 1.0);
}

TEST(OpenDevice, WithoutALimitItIsWhatIsFree) {
  const Device device = Device::open("cpu");
  const HostMemory memory = host_memory();
  EXPECT_LE(device.budget().limit(), memory.total);
  EXPECT_GT(device.budget().limit(), memory.available / 2);
}

TEST(OpenDevice, PagesSuitTheLimit) {
  EXPECT_EQ(open_cpu(KiB(256)).arena().source()->page_size(),
            static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(open_cpu(MiB(16)).arena().source()->page_size(), KiB(64));
  const Device large = open_cpu(MiB(512));
  EXPECT_EQ(large.arena().source()->page_size(), huge_pages_available() ? MiB(2) : KiB(64));
  const Device chosen = test::own_cpu({.limit = MiB(16), .page_size = MiB(2)});
  EXPECT_EQ(chosen.arena().source()->page_size(), MiB(2));
  // A small scope of a large device has small pages.
  EXPECT_EQ(large.session("s", MiB(8)).arena().source()->page_size(), KiB(64));
  EXPECT_THROW(Device::open("cpu", {.limit = MiB(16), .page_size = 3000}), InvalidArgument);
}

TEST(DeviceMemory, StaysWithinTheLimit) {
  const Device device = open_cpu(MiB(16));
  const Block block = device.allocate(MiB(8), Tag::user, "first");
  std::memset(block.data(), 1, MiB(8));
  EXPECT_GE(used_by(device), MiB(8));
  try {
    device.allocate(MiB(9), Tag::activations, "second");
    FAIL() << "no OutOfMemory";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.report().budget, "cpu:0");
    EXPECT_EQ(error.report().label, "second");
  }
  EXPECT_NO_THROW(device.allocate(MiB(7), Tag::user, "third"));
}

TEST(DeviceMemory, GoesBackToTheSystem) {
  const Device device = open_cpu(MiB(256));
  const Bytes before = resident_bytes();
  {
    const Block block = device.allocate(MiB(128), Tag::user, "block");
    std::memset(block.data(), 1, MiB(128));
    EXPECT_GE(device.process_used().value(), before + MiB(120));
    EXPECT_EQ(device.use().source, UsageSource::process);
    EXPECT_GE(device.use().bytes, before + MiB(120));
  }
  device.arena().trim();
  if (!kShadowMemory) {
    EXPECT_LT(resident_bytes(), before + MiB(16));
  }
  EXPECT_EQ(used_by(device), 0U);
}

TEST(DeviceMemory, PreallocationTakesItAllAtOnce) {
  const Bytes before = resident_bytes();
  const Device device = Device::open("cpu", {.limit = MiB(128), .preallocate = true});
  EXPECT_GE(resident_bytes(), before + MiB(120));
  EXPECT_EQ(device.arena().stats().mapped, MiB(128));
  const auto maps = device.arena().stats().maps;
  const Block block = device.allocate(MiB(64), Tag::user, "block");
  EXPECT_EQ(device.arena().stats().maps, maps);
}

TEST(DeviceMemory, PreallocatingTheCpuNeedsALimit) {
  EXPECT_THAT([] { Device::open("cpu", {.preallocate = true}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs a limit")));
}

TEST(DeviceMemory, BaselineIsWhatWasThereBefore) {
  const Bytes before = resident_bytes();
  const Device device = open_cpu(MiB(64));
  const Bytes after = resident_bytes();
  EXPECT_GE(device.baseline() + MiB(1), before);
  EXPECT_LE(device.baseline(), after + MiB(1));
  EXPECT_EQ(used_by(device), 0U);
}

TEST(DeviceMemory, ATraceIsWritten) {
  const FakeRoot folder;
  const std::string path = folder.path() + "/trace.csv";
  {
    const Device device = Device::open("cpu", {.limit = MiB(16), .trace = path});
    const Session session = device.session("s");
    device.allocate(KiB(10), Tag::user, "a");
    session.device().allocate(KiB(20), Tag::user, "b");
  }
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.operations.size(), 4U);
}

TEST(DeviceMemory, AnUnwritableTraceIsRefused) {
  EXPECT_THAT([] { Device::open("cpu", {.limit = MiB(16), .trace = "/nonexistent/t.csv"}); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent/t.csv")));
}

TEST(DeviceRuntime, IsChargedToTheRootAndCoveredByTheLimit) {
  const auto backend = std::make_shared<FakeBackend>(GiB(1), MiB(100));
  const Device device = Device::State::open(backend, {.limit = MiB(256)});
  EXPECT_EQ(device.name(), "cuda:3");
  EXPECT_EQ(device.ordinal(), 3);
  EXPECT_EQ(device.runtime(), MiB(100));
  EXPECT_EQ(used_by(device), MiB(100));
  EXPECT_EQ(device.budget().available(), MiB(156));
  const auto holders = device.budget().ledger().holders();
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].tag, Tag::runtime);
  EXPECT_EQ(holders[0].label, "driver context");
  EXPECT_THROW(device.allocate(MiB(157), Tag::user, "x"), OutOfMemory);
  EXPECT_NO_THROW(device.allocate(MiB(150), Tag::user, "x"));
}

TEST(DeviceRuntime, ALimitBelowItIsTooSmall) {
  const auto backend = std::make_shared<FakeBackend>(GiB(1), MiB(100));
  EXPECT_THAT([&] { Device::State::open(backend, {.limit = MiB(99)}); },
              ThrowsMessage<BudgetTooSmall>(AllOf(HasSubstr("100 MiB"), HasSubstr("99 MiB"))));
}

TEST(DeviceRuntime, TheDefaultLimitCoversIt) {
  const auto backend = std::make_shared<FakeBackend>(GiB(1), MiB(100));
  const Device device = Device::State::open(backend, {});
  EXPECT_EQ(device.budget().limit(), GiB(1));
  EXPECT_EQ(device.budget().available(), GiB(1) - MiB(100));
}

TEST(SplitDevice, GivesLogicalDevicesWithLimits) {
  const Device device = open_cpu(MiB(64));
  const auto parts = device.split({MiB(16), MiB(32)});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].name(), "cpu:0/0");
  EXPECT_EQ(parts[1].name(), "cpu:0/1");
  EXPECT_EQ(parts[0].budget().limit(), MiB(16));
  EXPECT_EQ(parts[0].info().total, MiB(16));
  EXPECT_FALSE(parts[0] == parts[1]);
  const Block block = parts[0].allocate(MiB(10), Tag::user, "a");
  EXPECT_GE(used_by(parts[0]), MiB(10));
  EXPECT_EQ(used_by(parts[1]), 0U);
  EXPECT_EQ(used_by(device), used_by(parts[0]));
  EXPECT_THROW(parts[0].allocate(MiB(10), Tag::user, "b"), OutOfMemory);
  EXPECT_NO_THROW(parts[1].allocate(MiB(30), Tag::user, "c"));
}

TEST(SplitDevice, KeepsItsParentOpen) {
  std::vector<Device> parts;
  {
    const Device device = open_cpu(MiB(64));
    parts = device.split({MiB(16)});
  }
  const Block block = parts[0].allocate(MiB(10), Tag::user, "a");
  std::memset(block.data(), 1, MiB(10));
  EXPECT_EQ(parts[0].budget().path(), "cpu:0/0");
}

TEST(SplitDevice, LimitsMustFitTogether) {
  const Device device = open_cpu(MiB(64));
  EXPECT_THAT(
      [&] {
        device.split({MiB(40), MiB(40)});
      },
      ThrowsMessage<BudgetTooSmall>(AllOf(HasSubstr("80 MiB"), HasSubstr("64 MiB"))));
  EXPECT_THROW(device.split({kUnlimited, kUnlimited}), BudgetTooSmall);
  EXPECT_THROW(device.split({}), InvalidArgument);
  EXPECT_THROW(device.split({MiB(1), 0}), InvalidArgument);
  EXPECT_TRUE(device.budget().children().empty());
}

TEST(SplitDevice, EarlierSplitsKeepWhatTheyWerePromised) {
  const Device device = open_cpu(MiB(64));
  {
    const auto first = device.split({MiB(40)});
    const Block block = first[0].allocate(MiB(20), Tag::user, "a");
    EXPECT_THROW(device.split({MiB(30)}), BudgetTooSmall);
    const auto second = device.split({MiB(20)});
    EXPECT_EQ(second[0].name(), "cpu:0/1");
  }
  EXPECT_EQ(device.split({MiB(64)})[0].name(), "cpu:0/0");
}

TEST(SplitDevice, FreePagesOfTheParentDoNotCount) {
  const Device device = open_cpu(MiB(64));
  device.allocate(MiB(60), Tag::user, "gone");
  EXPECT_NO_THROW(device.split({MiB(32), MiB(32)}));
}

TEST(SplitDevice, AndSplitAgain) {
  const Device device = open_cpu(MiB(64));
  const Device half = device.split({MiB(32)})[0];
  const auto quarters = half.split({MiB(16), MiB(16)});
  EXPECT_EQ(quarters[1].name(), "cpu:0/0/1");
  EXPECT_THROW(quarters[1].allocate(MiB(17), Tag::user, "a"), OutOfMemory);
}

TEST(DeviceWork, TheCpuHasOneStream) {
  const Device device = open_cpu(MiB(16));
  EXPECT_EQ(device.make_stream(), kHostStream);
  EXPECT_NO_THROW(device.synchronize());
  EXPECT_NO_THROW(device.synchronize(kHostStream));
  EXPECT_THROW(device.synchronize(5), InvalidArgument);
  int from = 7;
  int to = 0;
  device.copy(&to, &from, sizeof(int));
  EXPECT_EQ(to, 7);
  EXPECT_THROW(device.copy(&to, &from, sizeof(int), 5), InvalidArgument);
  EXPECT_NO_THROW(device.copy(nullptr, nullptr, 0));
}

TEST(DeviceWork, FencesOfTheHostAreBehindIt) {
  const Device device = open_cpu(MiB(16));
  const auto fence = device.fence(kHostStream);
  EXPECT_TRUE(fence->done());
  EXPECT_NO_THROW(fence->wait());
  EXPECT_NO_THROW(device.wait(kHostStream, fence));
  EXPECT_THROW(device.fence(5), InvalidArgument);
  const ProfilerRange range(device, "nothing to see");
}

TEST(DeviceWork, ATimerTellsTheTimeBetweenItsMarks) {
  const Device device = open_cpu(MiB(16));
  const auto timer = device.make_timer(kHostStream);
  EXPECT_TRUE(timer->seconds().empty());
  timer->mark();
  EXPECT_TRUE(timer->seconds().empty());
  std::vector<char> bytes(1 << 20, 1);
  std::vector<char> copy(bytes.size());
  for (int i = 0; i < 8; ++i) device.copy(copy.data(), bytes.data(), bytes.size());
  timer->mark();
  timer->mark();
  const std::vector<double> seconds = timer->seconds();
  ASSERT_EQ(seconds.size(), 2U);
  EXPECT_GT(seconds[0], 0);
  EXPECT_GE(seconds[1], 0);
}

TEST(DeviceWork, PinnedArenasAreChargedToTheHost) {
  const Device host = open_cpu(MiB(16));
  const auto pinned = host.make_pinned_arena(host.budget());
  const Block block = pinned->allocate(MiB(1), pinned->budget().account(Tag::staging, "batch"));
  EXPECT_GE(used_by(host), MiB(1));
  EXPECT_EQ(pinned->budget().path(), "cpu:0/pinned");
}

TEST(DeviceThreads, MayDoEverythingAtOnce) {
  const Device device = open_cpu(MiB(128));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&device] {
      for (int i = 0; i < 50; ++i) {
        Session session = device.session("work", MiB(8));
        const Block block = session.device().allocate(KiB(100), Tag::user, "a");
        const auto parts = session.device().split({MiB(1)});
        const Block inner = parts[0].allocate(KiB(50), Tag::user, "b");
        if (i % 2 == 0) session.close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(used_by(device), 0U);
  EXPECT_TRUE(device.budget().children().empty());
}

TEST(DeviceSplit, PromisesHoldAcrossSessions) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Session session = device.session("session");
  {
    const auto inner = session.device().split({MiB(48)});
    EXPECT_THROW(device.split({MiB(48)}), BudgetTooSmall);
    EXPECT_NO_THROW(device.split({MiB(16)}));
  }
  const auto outer = device.split({MiB(48)});
  EXPECT_THROW(session.device().split({MiB(48)}), BudgetTooSmall);
  EXPECT_NO_THROW(session.device().split({MiB(16)}));
  // What was promised to a logical device is its own to promise on.
  const auto within = outer[0].split({MiB(24), MiB(24)});
  EXPECT_THROW(outer[0].split({MiB(1)}), BudgetTooSmall);
}

}  // namespace
}  // namespace plimsoll
