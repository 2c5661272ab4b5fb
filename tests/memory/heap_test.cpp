#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/heap.h>
#include <plimsoll/memory/host_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

class HeapTest : public ::testing::Test {
 protected:
  Budget budget_ = Budget::root("test", MiB(64));
  Arena arena_{make_host_pages({.page_size = KiB(64)}), budget_};
  Account account_ = budget_.account(Tag::decode, "libjpeg");
};

TEST_F(HeapTest, GivesUsableMemoryAndTakesItBack) {
  Heap heap(arena_, account_);
  std::vector<void*> pointers;
  for (Bytes bytes = 1; bytes < MiB(4); bytes *= 3) {
    pointers.push_back(heap.allocate(bytes));
    std::memset(pointers.back(), 0x5a, bytes);
  }
  EXPECT_GT(heap.live(), MiB(2));
  for (void* const pointer : pointers) heap.free(pointer);
  EXPECT_EQ(heap.live(), 0u);
  EXPECT_EQ(budget_.ledger().live(), 0u);
}

TEST_F(HeapTest, NoBytesGiveAPointerOfTheirOwn) {
  Heap heap(arena_, account_);
  std::set<void*> pointers;
  for (int i = 0; i < 10; ++i) pointers.insert(heap.allocate(0));
  EXPECT_EQ(pointers.size(), 10u);
  EXPECT_EQ(pointers.count(nullptr), 0u);
  for (void* const pointer : pointers) heap.free(pointer);
}

TEST_F(HeapTest, RefusesPointersItDidNotGive) {
  Heap heap(arena_, account_);
  Heap other(arena_, account_);
  heap.free(nullptr);
  int local = 0;
  void* const mine = heap.allocate(100);
  EXPECT_THROW(heap.free(&local), InvalidArgument);
  EXPECT_THROW(heap.free(static_cast<char*>(mine) + 1), InvalidArgument);
  EXPECT_THROW(other.free(mine), InvalidArgument);
  EXPECT_EQ(heap.live(), 100u);
  heap.free(mine);
  EXPECT_THROW(heap.free(mine), InvalidArgument);
  EXPECT_EQ(heap.live(), 0u);
}

TEST_F(HeapTest, ReleasesWhatIsLeftWhenItGoes) {
  {
    Heap heap(arena_, account_);
    for (int i = 0; i < 100; ++i) heap.allocate(5000);
    EXPECT_GE(budget_.ledger().live(), 500'000u);
  }
  EXPECT_EQ(budget_.ledger().live(), 0u);
}

TEST_F(HeapTest, IsChargedToItsAccountAndKeepsTheLimit) {
  Heap heap(arena_, account_);
  void* const pointer = heap.allocate(MiB(1));
  const std::vector<Holder> holders = budget_.ledger().holders();
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders[0].tag, Tag::decode);
  EXPECT_EQ(holders[0].label, "libjpeg");
  EXPECT_THROW(heap.allocate(MiB(100)), OutOfMemory);
  EXPECT_EQ(heap.live(), MiB(1));
  heap.free(pointer);
}

TEST_F(HeapTest, ServesManyThreads) {
  Heap heap(arena_, account_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&heap, t] {
      std::vector<unsigned char*> mine;
      for (int i = 0; i < 500; ++i) {
        auto* const bytes = static_cast<unsigned char*>(heap.allocate(64));
        std::memset(bytes, t, 64);
        mine.push_back(bytes);
        if (i % 3 == 2) {
          ASSERT_EQ(mine.front()[63], t);
          heap.free(mine.front());
          mine.erase(mine.begin());
        }
      }
      for (unsigned char* const bytes : mine) heap.free(bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap.live(), 0u);
}

}  // namespace
}  // namespace plimsoll
