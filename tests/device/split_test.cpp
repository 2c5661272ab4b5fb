// What split() promises is kept.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/out_of_memory.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SplitGuarantee : public ::testing::Test {
 protected:
  /// All of the promise can be had, and all of it is memory.
  void expect_kept(const Device& device) {
    const Bytes all = align_down(device.budget().available(), device.arena().source()->page_size());
    EXPECT_GE(all, MiB(30));
    EXPECT_NO_THROW((void)device.allocate(all, Tag::user, "all of it"));
  }

  Device device_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(SplitGuarantee, TheParentItselfCannotTakeIt) {
  const auto parts = device_.split({MiB(32)});
  const Block block = device_.allocate(MiB(30), Tag::user, "parent's");
  try {
    (void)device_.allocate(MiB(8), Tag::user, "too much");
    FAIL() << "no OutOfMemory";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.report().budget, "cpu:0");
    EXPECT_EQ(error.report().promised, MiB(32));
    EXPECT_THAT(error.what(), HasSubstr("32 MiB is promised"));
  }
  EXPECT_EQ(device_.budget().promised(), MiB(32));
  EXPECT_LE(device_.budget().used(), MiB(32));
  expect_kept(parts[0]);
  device_.arena().check();
}

TEST_F(SplitGuarantee, SiblingsSessionsAndChargesCannotTakeIt) {
  const auto parts = device_.split({MiB(32), MiB(16)});
  EXPECT_THROW((void)parts[1].allocate(MiB(17), Tag::user, "sibling"), OutOfMemory);
  EXPECT_THROW(parts[1].budget().set_limit(MiB(33)), InvalidArgument);
  const Session session = device_.session("session");
  EXPECT_THROW((void)session.device().allocate(MiB(17), Tag::user, "session"), OutOfMemory);
  EXPECT_THROW((void)device_.budget().charge(Tag::user, "charge", MiB(17)), OutOfMemory);
  EXPECT_THROW((void)device_.budget().reserve(MiB(17)), OutOfMemory);
  EXPECT_THROW((void)device_.split({MiB(17)}), BudgetTooSmall);
  EXPECT_THROW((void)session.device().split({MiB(17)}), BudgetTooSmall);
  const Charge fits = device_.budget().charge(Tag::user, "charge", MiB(16));
  expect_kept(parts[0]);
  device_.arena().check();
}

TEST_F(SplitGuarantee, TheParentsLimitStaysAboveWhatWasPromised) {
  const auto parts = device_.split({MiB(32), MiB(16)});
  const Block block = parts[0].allocate(MiB(20), Tag::activations, "batch");
  EXPECT_THAT([&] { device_.budget().set_limit(MiB(40)); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("promised to 'cpu:0/1'"), HasSubstr("promised to 'cpu:0/0'"),
                        HasSubstr("activations 'batch'"), HasSubstr("the limit stays 64 MiB"))));
  EXPECT_NO_THROW(device_.budget().set_limit(MiB(48)));
  EXPECT_NO_THROW((void)parts[1].allocate(MiB(16), Tag::user, "all of it"));
  EXPECT_THROW((void)device_.allocate(KiB(64), Tag::user, "x"), OutOfMemory);
}

TEST_F(SplitGuarantee, MovesWithTheLogicalDevicesLimit) {
  const auto parts = device_.split({MiB(32), MiB(16)});
  EXPECT_THAT([&] { parts[1].budget().set_limit(MiB(40)); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("'cpu:0/1'"), HasSubstr("40 MiB"),
                                                   HasSubstr("16 MiB left to promise"))));
  parts[1].budget().set_limit(MiB(32));
  EXPECT_EQ(device_.budget().available(), 0U);
  parts[1].budget().set_limit(MiB(8));
  EXPECT_EQ(device_.budget().available(), MiB(24));
  expect_kept(parts[0]);
  EXPECT_THROW((void)parts[1].allocate(MiB(9), Tag::user, "x"), OutOfMemory);
}

TEST_F(SplitGuarantee, EndsWithTheDeviceAndWithTheSessionAroundIt) {
  auto parts = device_.split({MiB(48)});
  const Budget kept = parts[0].budget();  // no handle on the device
  parts.clear();
  EXPECT_EQ(device_.budget().available(), MiB(64));
  Session session = device_.session("session");
  const auto inner = session.device().split({MiB(48)});
  EXPECT_EQ(device_.budget().available(), MiB(16));
  EXPECT_EQ(inner[0].budget().available(), MiB(48));
  session.close();
  EXPECT_EQ(device_.budget().available(), MiB(64));
  device_.arena().check();
}

TEST_F(SplitGuarantee, IsNotPaidForTwice) {
  const auto half = device_.split({MiB(32)});
  const auto quarters = half[0].split({MiB(16), MiB(16)});
  EXPECT_EQ(device_.budget().available(), MiB(32));
  EXPECT_EQ(half[0].budget().available(), 0U);
  EXPECT_EQ(quarters[1].budget().available(), MiB(16));
  const Block block = quarters[0].allocate(MiB(10), Tag::user, "x");
  EXPECT_EQ(device_.budget().available(), MiB(32));
  EXPECT_GE(device_.budget().used(), MiB(10));
  EXPECT_EQ(device_.budget().used() + device_.budget().promised(), MiB(32));
  device_.arena().check();
}

TEST_F(SplitGuarantee, HoldersAreAskedToMakeRoomForIt) {
  Block cache = device_.allocate(MiB(40), Tag::cache, "pictures");
  EXPECT_THROW((void)device_.split({MiB(32)}), BudgetTooSmall);
  const ReliefHandle relief =
      device_.budget().on_relief(ReliefOrder::cache, "pictures", [&](Bytes) -> Bytes {
        cache.release();
        const Session scope = device_.session("brief");  // may open scopes itself
        return MiB(40);
      });
  expect_kept(device_.split({MiB(32)})[0]);
}

}  // namespace
}  // namespace plimsoll
