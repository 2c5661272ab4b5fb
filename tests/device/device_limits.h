#pragma once

// A device's limit, as a program meets it: figures in the refusal, going on afterwards, growth,
// preallocation, limits that move. One suite for every kind of device:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, DeviceLimits, ::testing::Values("cpu:0"), device_case_name);

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/out_of_memory.h>

#include "device/shadow_memory.h"
#include "support/missing_device.h"
#include "support/own_device.h"

namespace plimsoll {

inline std::string device_case_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, ':');
  return name;
}

class DeviceLimits : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto why = test::why_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    // Kept open, so that what a context takes is there before anything is measured.
    kept_.emplace(test::own_device(GetParam(), {.limit = GiB(2)}));
  }

  Bytes runtime() const { return kept_->runtime(); }
  Device open(Bytes above_runtime, bool preallocate = false) const {
    return test::own_device(GetParam(),
                            {.limit = runtime() + above_runtime, .preallocate = preallocate});
  }

  /// A block that was written, and what was written to it.
  struct Written {
    Written(const Device& on, Bytes bytes, std::string_view label, std::uint8_t value)
        : device(on), block(on.allocate(bytes, Tag::user, label)), expected(bytes, value) {
      device.copy(block.data(), expected.data(), bytes);
    }
    void check() const {
      std::vector<std::uint8_t> now(expected.size());
      device.copy(now.data(), block.data(), now.size());
      EXPECT_TRUE(now == expected) << "the contents of a block changed";
    }
    Device device;
    Block block;
    std::vector<std::uint8_t> expected;
  };

  /// The system's own figure stays below `limit`; a driver's page tables are in the slack.
  static void expect_held_at_most(const Device& device, Bytes limit) {
    if (device.capabilities().host_memory) return;  // code and the test itself count there, too
    if (const auto used = device.process_used()) {
      EXPECT_LE(*used, limit + MiB(16));
    }
  }

  std::optional<Device> kept_;
};

TEST_P(DeviceLimits, ARefusalNamesTheFiguresAndSmallerRequestsGoOn) {
  const Device device = open(MiB(64));
  Written kept(device, MiB(40), "kept", 0x31);
  try {
    (void)device.allocate(MiB(30), Tag::activations, "too much");
    FAIL() << "no OutOfMemory";
  } catch (const OutOfMemory& error) {
    const OutOfMemoryReport& report = error.report();
    EXPECT_EQ(report.requested, MiB(30));
    EXPECT_EQ(report.tag, Tag::activations);
    EXPECT_EQ(report.label, "too much");
    EXPECT_EQ(report.budget, device.name());
    EXPECT_EQ(report.limit, runtime() + MiB(64));
    EXPECT_EQ(report.used, runtime() + MiB(40));
    EXPECT_TRUE(report.system_error.empty()) << report.system_error;
    const auto held = [&](Tag tag, const std::string& label) -> Bytes {
      for (const Holder& holder : report.holders) {
        if (holder.tag == tag && holder.label == label) return holder.bytes;
      }
      return 0;
    };
    EXPECT_EQ(held(Tag::user, "kept"), MiB(40));
    EXPECT_EQ(held(Tag::runtime, "driver context"), runtime());
    EXPECT_FALSE(report.remedies.empty());
    for (const std::string& part :
         {std::string("30 MiB"), std::string("too much"), device.name(), format_bytes(report.limit),
          format_bytes(report.used), std::string("kept")}) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    }
  }
  device.arena().check();
  kept.check();
  {
    Written smaller(device, MiB(20), "smaller", 0x32);
    smaller.check();
    kept.check();
  }
  expect_held_at_most(device, device.budget().limit());
  kept.block.release();
  Written again(device, MiB(30), "too much", 0x33);
  again.check();
  EXPECT_LE(device.budget().peak(), device.budget().limit());
}

TEST_P(DeviceLimits, AHundredRefusalsLeaveNothingBehind) {
  const Device device = open(MiB(64));
  Written kept(device, MiB(40), "kept", 0x41);
  const Bytes used = device.budget().used();
  const auto holders = device.budget().ledger().holders().size();
  for (Bytes i = 0; i < 100; ++i) {
    EXPECT_THROW((void)device.allocate(MiB(25 + i), Tag::user, "too much"), OutOfMemory);
    EXPECT_THROW((void)device.allocate(GiB(1) << i % 33, Tag::user, "too much"), OutOfMemory);
  }
  device.arena().check();
  device.arena().trim();
  EXPECT_EQ(device.budget().used(), used);
  EXPECT_LE(device.budget().ledger().holders().size(), holders + 1);
  kept.check();
  Written rest(device, MiB(24), "rest", 0x42);
  rest.check();
}

TEST_P(DeviceLimits, MemoryIsTakenAsItIsUsedAndGoesBack) {
  const Device device = open(MiB(512));
  const auto before = device.process_used();
  EXPECT_EQ(device.arena().stats().mapped, 0U);
  EXPECT_EQ(device.budget().used(), runtime());
  std::vector<Written> blocks;
  for (Bytes i = 1; i <= 4; ++i) {
    blocks.emplace_back(device, MiB(64), "block", static_cast<std::uint8_t>(i));
    EXPECT_GE(device.budget().used(), runtime() + i * MiB(64));
    EXPECT_LE(device.budget().used(), runtime() + i * MiB(64) + MiB(16));
    if (before && !kShadowMemory) {
      EXPECT_GE(*device.process_used() + MiB(16), *before + i * MiB(64));
    }
  }
  for (const Written& block : blocks) block.check();
  blocks.clear();
  device.arena().trim();
  EXPECT_EQ(device.arena().stats().mapped, 0U);
  EXPECT_EQ(device.budget().used(), runtime());
  if (before && !kShadowMemory) {
    EXPECT_LE(*device.process_used(), *before + MiB(300));
    if (!device.capabilities().host_memory) {
      EXPECT_LE(*device.process_used(), *before + MiB(16));
    }
  }
}

TEST_P(DeviceLimits, PreallocationTakesTheWholeLimitAtOnceAndOneRequestHasAllOfIt) {
  const auto before = kept_->process_used();
  const Device device = open(MiB(128), true);
  const Bytes page = device.arena().source()->page_size();
  const Bytes all = align_down(device.budget().limit() - runtime(), page);
  EXPECT_EQ(device.arena().stats().mapped, all);
  if (before) {
    EXPECT_GE(*device.process_used() + MiB(16), *before + all);
  }
  const auto maps = device.arena().stats().maps;
  {
    Written everything(device, all, "everything", 0x51);
    everything.check();
    EXPECT_THROW((void)device.allocate(page, Tag::user, "more"), OutOfMemory);
    everything.check();
  }
  EXPECT_EQ(device.arena().trim(), 0U) << "what was taken for good is kept";
  EXPECT_EQ(device.arena().stats().maps, maps);
  Written first(device, MiB(60), "first", 0x52);
  Written second(device, MiB(60), "second", 0x53);
  EXPECT_EQ(device.arena().stats().maps, maps);
  first.check();
  second.check();
}

TEST_P(DeviceLimits, ARaisedLimitCanBeUsed) {
  const Device device = open(MiB(32));
  Written kept(device, MiB(24), "kept", 0x61);
  EXPECT_THROW((void)device.allocate(MiB(100), Tag::user, "large"), OutOfMemory);
  device.budget().set_limit(runtime() + MiB(136));
  Written large(device, MiB(100), "large", 0x62);
  large.check();
  kept.check();
  EXPECT_THROW((void)device.allocate(MiB(64), Tag::user, "beyond"), OutOfMemory);
  expect_held_at_most(device, device.budget().limit());
}

TEST_P(DeviceLimits, ALoweredLimitReturnsFreePagesAndHolds) {
  const Device device = open(MiB(136));
  Written kept(device, MiB(32), "kept", 0x71);
  { const Written brief(device, MiB(100), "brief", 0x72); }
  EXPECT_THROW(device.budget().set_limit(runtime() + MiB(16)), InvalidArgument);
  EXPECT_EQ(device.budget().limit(), runtime() + MiB(136));
  device.budget().set_limit(runtime() + MiB(48));
  EXPECT_LE(device.budget().used(), runtime() + MiB(48));
  EXPECT_LE(device.arena().stats().mapped, MiB(48));
  expect_held_at_most(device, runtime() + MiB(48));
  kept.check();
  EXPECT_THROW((void)device.allocate(MiB(32), Tag::user, "beyond"), OutOfMemory);
  Written within(device, MiB(14), "within", 0x73);
  within.check();
}

TEST_P(DeviceLimits, ASessionsLimitIsAsHardAndClosingReturnsItsPages) {
  const Device device = open(MiB(136));
  Written outside(device, MiB(32), "outside", 0x21);
  const Bytes used = device.budget().used();
  {
    const Session session = device.session("short", MiB(64));
    Written inside(session.device(), MiB(48), "inside", 0x22);
    try {
      (void)session.device().allocate(MiB(32), Tag::user, "too much");
      FAIL() << "no OutOfMemory";
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.report().budget, device.name() + "/short");
      EXPECT_EQ(error.report().limit, MiB(64));
    }
    inside.check();
    Written rest(session.device(), MiB(12), "rest", 0x23);
    rest.check();
  }
  EXPECT_EQ(device.budget().used(), used);
  outside.check();
}

}  // namespace plimsoll
