#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/trace.h>

#include "support/blocked_thread.h"

namespace plimsoll {
namespace {

/// Streams whose work finishes when somebody waits for it, which first runs `hook`, once.
class HookedStreams : public FenceSource {
 public:
  struct HookedFence : Fence {
    explicit HookedFence(HookedStreams& s) : streams(s) {}
    bool done() override { return finished; }
    void wait() override {
      finished = true;
      if (auto call = std::exchange(streams.hook, nullptr)) call();
    }
    HookedStreams& streams;
    bool finished = false;
  };
  std::shared_ptr<Fence> record(StreamId) override {
    if (broken) throw DeviceError("the device is gone");
    return std::make_shared<HookedFence>(*this);
  }
  std::function<void()> hook;
  bool broken = false;
};

/// Runs `hook`, once, before it unmaps; remembers the chunk last asked for.
class HookedPages : public FaultyPages {
 public:
  using FaultyPages::FaultyPages;
  void map(AddressRange range, Bytes chunk) override {
    last_chunk = chunk;
    if (broken) throw DeviceError("the device is gone");
    FaultyPages::map(range, chunk);
  }
  void unmap(AddressRange range) override {
    if (auto call = std::exchange(hook, nullptr)) call();
    FaultyPages::unmap(range);
  }
  std::function<void()> hook;
  Bytes last_chunk = 0;
  bool broken = false;
};

struct ClosingArena : ::testing::Test {
  Budget root = Budget::root("cuda:0", MiB(16));
  Account account = root.account(Tag::user, "test");
  std::shared_ptr<HookedStreams> streams = std::make_shared<HookedStreams>();
  std::shared_ptr<HookedPages> pages = std::make_shared<HookedPages>(make_dry_pages(MiB(2)));
};

TEST_F(ClosingArena, AnAllocationThatWaitsForAFenceMeanwhileIsRefused) {
  Arena arena(pages, root, {.fences = streams});
  arena.allocate(MiB(16), account, 1).release();
  streams->hook = [&] { arena.close(); };
  EXPECT_THROW(arena.allocate(MiB(16), account, 2), Error);
  EXPECT_EQ(root.ledger().live(), 0U);
  EXPECT_EQ(root.used(), 0U);
}

TEST_F(ClosingArena, PreparingAfterwardsSaysSo) {
  Arena arena(pages, root);
  arena.close();
  try {
    arena.prepare(MiB(8));
    FAIL() << "a closed arena was prepared";
  } catch (const InternalError& e) {
    FAIL() << e.what();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("closed"), std::string::npos) << e.what();
  }
}

TEST_F(ClosingArena, TwoThreadsMayCloseAtOnce) {
  Arena arena(pages, root);
  const Block block = arena.allocate(MiB(8), account);
  std::thread second;
  std::atomic<long> number{0};
  std::atomic<bool> returned{false};
  pages->hook = [&] {
    second = std::thread([&] {
      number = test::this_thread_number();
      EXPECT_NO_THROW(arena.close());
      returned = true;
    });
    while (number == 0) std::this_thread::yield();
    test::wait_until_blocked(number);
    EXPECT_FALSE(returned) << "the memory is not back yet";
  };
  EXPECT_NO_THROW(arena.close());
  second.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(arena.stats().mapped, 0U);
  EXPECT_EQ(arena.stats().blocks, 0U);
  EXPECT_EQ(arena.stats().largest_free, 0U);
}

TEST_F(ClosingArena, OneThatCannotIsNotFoundAnyMore) {
  {
    Arena arena(pages, root.child("broken"));
    arena.allocate(MiB(8), arena.budget().account(Tag::user, "x")).release();
    pages->fail_at(1, 1000);
  }
  pages->fail_at(0);
  Arena other(make_dry_pages(), root.child("other"));
  EXPECT_THROW(other.allocate(MiB(16), other.budget().account(Tag::user, "x")), OutOfMemory);
}

TEST_F(ClosingArena, ItsEndReturnsEverythingEvenIfFencesFail) {
  Block block;
  {
    Arena arena(pages, root, {.fences = streams});
    block = arena.allocate(MiB(8), account, 1);
    streams->broken = true;
    EXPECT_THROW(arena.close(), DeviceError);
  }
  EXPECT_EQ(block.data(), nullptr);
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(root.ledger().live(), 0U);
}

TEST_F(ClosingArena, BudgetsThatOnlyItsBlocksKeptGo) {
  {
    Arena arena(pages, root.child("session"));
    const Block block = arena.allocate(
        MiB(2), arena.budget().child("inner").account(Tag::user, "outlives its budget"));
    arena.close();
  }
  EXPECT_EQ(root.child("session").path(), "cuda:0/session");
}

TEST_F(ClosingArena, ItsTraceReleasesWhatWasLive) {
  const std::string path = ::testing::TempDir() + "closing_arena.csv";
  {
    const auto trace = std::make_shared<TraceRecorder>(path);
    for (int i = 0; i < 2; ++i) {  // the second gets the addresses of the first
      Arena arena(pages, root.child("session"), {.trace = trace});
      const Block block = arena.allocate(MiB(2), arena.budget().account(Tag::user, "x"));
      arena.close();
    }
  }
  EXPECT_EQ(read_trace(path).operations.size(), 4U);
}

TEST_F(ClosingArena, AnAccountOfABudgetWithAnArenaOfItsOwnIsRefused) {
  Arena outer(pages, root);
  Arena inner(make_dry_pages(), root.child("inner"));
  EXPECT_THROW(outer.allocate(MiB(2), inner.budget().account(Tag::user, "x")), InvalidArgument);
  outer.check();
}

TEST_F(ClosingArena, PreparingMoreThanThereAreAddressesIsOutOfMemory) {
  Arena arena(pages, Budget::root("unlimited"));
  EXPECT_THROW(arena.prepare(kUnlimited), OutOfMemory);
}

TEST_F(ClosingArena, AFailureWhilePreparingLeavesNoLargeChunks) {
  Arena arena(pages, root);
  pages->broken = true;
  EXPECT_THROW(arena.prepare(MiB(16)), DeviceError);
  pages->broken = false;
  const Block block = arena.allocate(MiB(16), account);
  EXPECT_EQ(pages->last_chunk, 0U);
}

TEST_F(ClosingArena, AnAccountOfOneThatIsGoneIsNotTheNextOnes) {
  const Budget other = Budget::root("cuda:1", MiB(16));
  {
    Arena first(pages, root);
    first.allocate(MiB(2), account).release();
  }
  Arena second(pages, other);  // most likely at the address of the first
  EXPECT_THROW(second.allocate(MiB(2), account), InvalidArgument);
  EXPECT_EQ(root.ledger().live(), 0U);
}

}  // namespace
}  // namespace plimsoll
