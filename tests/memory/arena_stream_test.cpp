#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

/// Streams whose work finishes when the test says so, or when somebody waits for it.
class FakeStreams : public FenceSource {
 public:
  struct FakeFence : Fence {
    explicit FakeFence(FakeStreams& s, StreamId id, std::uint64_t at)
        : streams(s), stream(id), position(at) {}
    bool done() override { return streams.finished[stream] >= position; }
    void wait() override {
      ++streams.waits;
      streams.finished[stream] = std::max(streams.finished[stream], position);
    }
    FakeStreams& streams;
    StreamId stream;
    std::uint64_t position;
  };

  std::shared_ptr<Fence> record(StreamId stream) override {
    ++records;
    if (broken) throw DeviceError("the device is gone");
    if (recorded) return nullptr;
    return std::make_shared<FakeFence>(*this, stream, ++submitted[stream]);
  }
  void finish(StreamId stream) { finished[stream] = submitted[stream]; }

  std::map<StreamId, std::uint64_t> submitted;
  std::map<StreamId, std::uint64_t> finished;
  std::atomic<int> records = 0;
  int waits = 0;
  bool broken = false;
  std::atomic<bool> recorded = false;  ///< what is submitted, so that there are no fences
};

struct StreamArena : ::testing::Test {
  std::shared_ptr<FakeStreams> streams = std::make_shared<FakeStreams>();
  Budget root = Budget::root("cuda:0", MiB(16));
  Arena arena{make_dry_pages(MiB(2)), root, {.fences = streams}};
  Account account = root.account(Tag::user, "test");

  Block get(Bytes bytes, StreamId stream) { return arena.allocate(bytes, account, stream); }
  void TearDown() override { arena.check(); }
};

TEST_F(StreamArena, MemoryFreedOnAStreamIsReusableThereAtOnce) {
  Block a = get(MiB(16), 1);
  void* address = a.data();
  a.release();
  Block b = get(MiB(16), 1);
  EXPECT_EQ(b.data(), address);
  EXPECT_EQ(streams->records, 0) << "no fence is needed on the same stream";
}

TEST_F(StreamArena, AnotherStreamGetsItAfterTheFence) {
  Block a = get(MiB(8), 1);
  void* address = a.data();
  a.release();
  Block b = get(MiB(8), 2);
  EXPECT_NE(b.data(), address) << "stream 1 may still use it, and there was room to grow";
  EXPECT_EQ(streams->waits, 0);
  Block c = get(MiB(8), 2);
  EXPECT_EQ(c.data(), address) << "the limit leaves nothing else: wait for stream 1";
  EXPECT_EQ(streams->waits, 1);
}

TEST_F(StreamArena, AFinishedFenceNeedsNoWaiting) {
  get(MiB(16), 1).release();
  EXPECT_THROW(
      {
        streams->broken = true;
        get(MiB(16), 2);
      },
      DeviceError)
      << "a device fault is not out of memory";
  streams->broken = false;
  Block first = get(MiB(16), 1);
  first.release();
  Block b = get(MiB(16), 2);
  EXPECT_EQ(b.size(), MiB(16));
}

TEST_F(StreamArena, TheHostsReleasesAreEverybodysAtOnce) {
  get(MiB(16), kHostStream).release();
  Block b = get(MiB(16), 7);
  EXPECT_EQ(streams->records, 0);
}

TEST_F(StreamArena, ABlockUsedByAnotherStreamWaitsForThatOneToo) {
  Block a = get(MiB(16), 1);
  a.record_use(2);
  a.record_use(2);
  a.release();
  EXPECT_EQ(streams->records, 1) << "one fence, on stream 2";
  EXPECT_EQ(arena.stats().live, 0U);
  Block b = get(MiB(16), 1);
  EXPECT_EQ(streams->waits, 1);
}

TEST_F(StreamArena, PagesAreUnmappedOnlyAfterTheFences) {
  get(MiB(16), 1).release();
  EXPECT_EQ(streams->waits, 0);
  EXPECT_EQ(arena.trim(), MiB(16));
  EXPECT_EQ(streams->waits, 1);
  EXPECT_EQ(root.used(), 0U);
}

TEST_F(StreamArena, LoweringALimitWaitsForFences) {
  get(MiB(16), 3).release();
  root.set_limit(MiB(2));
  EXPECT_EQ(root.limit(), MiB(2));
  EXPECT_EQ(streams->waits, 1);
}

TEST_F(StreamArena, ClosingWaitsForTheStreamsOfLiveBlocks) {
  Block a = get(MiB(4), 1);
  Block b = get(MiB(4), 2);
  b.record_use(3);
  arena.close();
  EXPECT_GE(streams->waits, 3);
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(a.data(), nullptr);
}

TEST_F(StreamArena, AFenceThatCannotBeRecordedIsTriedAgain) {
  Block a = get(MiB(16), 1);
  a.record_use(2);
  streams->broken = true;
  a.release();
  streams->broken = false;
  Block b = get(MiB(16), 1);
  EXPECT_EQ(b.size(), MiB(16));
}

TEST_F(StreamArena, OthersGrowWhileAStreamIsRecorded) {
  Block a = get(MiB(8), 1);
  const void* address = a.data();
  a.release();
  Block used = get(MiB(2), kHostStream);
  used.record_use(1);
  streams->recorded = true;
  used.release();
  const Block b = get(MiB(4), 2);
  EXPECT_NE(b.data(), address);
  EXPECT_THROW((void)get(MiB(12), 2), OutOfMemory);
  EXPECT_NO_THROW(arena.trim());
  streams->recorded = false;
  EXPECT_NO_THROW((void)get(MiB(12), 2));
}

TEST_F(StreamArena, ClosingWaitsUntilARecordingIsOver) {
  const Block live = get(MiB(2), kHostStream);
  live.record_use(1);
  Block released = get(MiB(2), kHostStream);
  released.record_use(2);
  streams->recorded = true;
  released.release();
  std::atomic<bool> closed = false;
  std::thread closing([&] {
    arena.close();
    closed = true;
  });
  // It asks again and again, and is told each time that there is no fence yet.
  const int asked = streams->records;
  while (streams->records < asked + 3) std::this_thread::yield();
  EXPECT_FALSE(closed);
  streams->recorded = false;
  closing.join();
  EXPECT_EQ(streams->waits, 2);
  EXPECT_EQ(arena.stats().mapped, 0U);
}

}  // namespace
}  // namespace plimsoll
