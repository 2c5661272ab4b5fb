#include <cstring>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/memory/out_of_memory.h>

#include "device/shadow_memory.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SessionTest : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(256)});
};

TEST_F(SessionTest, IsADeviceWithABudgetOfItsOwn) {
  Session session = device_.session("validation", MiB(64));
  EXPECT_EQ(session.device().name(), "cpu:0/validation");
  EXPECT_EQ(session.budget().path(), "cpu:0/validation");
  EXPECT_EQ(session.budget().limit(), MiB(64));
  EXPECT_EQ(session.device().backend().name, "cpu");
  EXPECT_FALSE(session.device() == device_);
  EXPECT_THROW(session.device().allocate(MiB(65), Tag::user, "x"), OutOfMemory);
  const Block block = session.device().allocate(MiB(60), Tag::user, "x");
  EXPECT_GE(device_.budget().used(), MiB(60));
}

TEST_F(SessionTest, WithoutALimitDrawsOnTheDevice) {
  Session session = device_.session("all");
  EXPECT_EQ(session.budget().limit(), kUnlimited);
  EXPECT_NO_THROW(session.device().allocate(MiB(200), Tag::user, "x"));
  EXPECT_THROW(session.device().allocate(MiB(300), Tag::user, "x"), OutOfMemory);
  EXPECT_EQ(session.device().info().total, host_memory().total);
}

TEST_F(SessionTest, ClosingReturnsLiveBlocks) {
  const Bytes before = resident_bytes();
  Session session = device_.session("eval");
  Block block = session.device().allocate(MiB(128), Tag::user, "x");
  std::memset(block.data(), 1, MiB(128));
  EXPECT_GE(resident_bytes(), before + MiB(120));
  session.close();
  if (!kShadowMemory) {
    EXPECT_LT(resident_bytes(), before + MiB(8));
  }
  EXPECT_EQ(block.data(), nullptr);
  EXPECT_EQ(device_.budget().used(), 0U);
  EXPECT_TRUE(session.device().closed());
  EXPECT_FALSE(device_.closed());
  session.close();
  block.release();
  EXPECT_EQ(device_.budget().used(), 0U);
}

TEST_F(SessionTest, DestructionCloses) {
  Block block;
  {
    const Session session = device_.session("eval");
    block = session.device().allocate(MiB(8), Tag::user, "x");
    EXPECT_NE(block.data(), nullptr);
  }
  EXPECT_EQ(block.data(), nullptr);
  EXPECT_EQ(device_.budget().used(), 0U);
}

TEST_F(SessionTest, AClosedOneRefusesByName) {
  Session session = device_.session("eval");
  const Device inside = session.device();
  session.close();
  EXPECT_THAT([&] { inside.allocate(1, Tag::user, "x"); },
              ThrowsMessage<Error>(HasSubstr("cpu:0/eval is closed")));
  EXPECT_THAT([&] { inside.session("inner"); }, ThrowsMessage<Error>(HasSubstr("cpu:0/eval")));
  EXPECT_THAT([&] { inside.split({1024}); }, ThrowsMessage<Error>(HasSubstr("cpu:0/eval")));
}

TEST_F(SessionTest, ClosingClosesWhatIsInside) {
  Session outer = device_.session("outer");
  const Session inner = outer.device().session("inner");
  const auto parts = outer.device().split({MiB(16)});
  const Block a = inner.device().allocate(MiB(1), Tag::user, "a");
  const Block b = parts[0].allocate(MiB(1), Tag::user, "b");
  outer.close();
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_TRUE(inner.device().closed());
  EXPECT_TRUE(parts[0].closed());
  EXPECT_EQ(device_.budget().used(), 0U);
}

TEST_F(SessionTest, OthersAreUntouched) {
  Session first = device_.session("a");
  const Session second = device_.session("a");
  EXPECT_NE(first.device().name(), second.device().name());
  const Block block = second.device().allocate(MiB(1), Tag::user, "x");
  std::memset(block.data(), 42, MiB(1));
  first.close();
  EXPECT_EQ(static_cast<const char*>(block.data())[MiB(1) - 1], 42);
}

TEST_F(SessionTest, MovesLikeAValue) {
  Session session = device_.session("a");
  const Block block = session.device().allocate(MiB(1), Tag::user, "x");
  Session moved = std::move(session);
  EXPECT_NE(block.data(), nullptr);
  moved = device_.session("b");
  EXPECT_EQ(block.data(), nullptr);
  EXPECT_EQ(moved.device().name(), "cpu:0/b");
}

TEST_F(SessionTest, OutlivesTheHandlesOfItsDevice) {
  Device device = test::own_cpu({.limit = MiB(16)});
  const Session session = device.session("s");
  const Bytes before = device_.budget().used();
  device = device_;
  const Block block = session.device().allocate(MiB(1), Tag::user, "x");
  ASSERT_NE(block.data(), nullptr);
  std::memset(block.data(), 1, MiB(1));
  EXPECT_GE(session.budget().used(), MiB(1));
  EXPECT_EQ(device_.budget().used(), before) << "it is charged to the device it was made on";
  EXPECT_THROW((void)session.device().allocate(MiB(16), Tag::user, "more than there is"),
               OutOfMemory);
}

TEST_F(SessionTest, ImpossibleOnesAreRefused) {
  EXPECT_THAT([&] { device_.session("big", MiB(257)); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("\"big\""), HasSubstr("256 MiB"))));
  EXPECT_THROW(device_.session("none", Bytes{0}), InvalidArgument);
  EXPECT_THROW(device_.session(""), InvalidArgument);
  EXPECT_EQ(device_.session("half", Limit::share(0.5)).budget().limit(), MiB(128));
  EXPECT_TRUE(device_.budget().children().empty());
}

TEST_F(SessionTest, WithinAnUnlimitedOneHasTheDevicesLimits) {
  Session outer = device_.session("outer");
  EXPECT_EQ(outer.device().session("half", Limit::share(0.5)).budget().limit(), MiB(128));
  EXPECT_THROW(outer.device().session("large", MiB(512)), InvalidArgument);
}

TEST_F(SessionTest, NestedInASmallDeviceHasPagesThatFitIt) {
  const Device small = test::own_cpu({.limit = MiB(1)});
  const Session outer = small.session("outer");
  const Session inner = outer.device().session("inner");
  EXPECT_NO_THROW(inner.device().allocate(KiB(64), Tag::user, "x"));
}

TEST_F(SessionTest, NameWithASlashIsRefused) {
  const Session a = device_.session("a");
  const Session b = a.device().session("b");
  EXPECT_THROW(device_.session("a/b"), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll
