#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

/// Streams that finish their work at random, and what of it still uses which memory.
class Streams : public FenceSource {
 public:
  struct PositionFence : Fence {
    PositionFence(Streams& s, StreamId id, std::uint64_t at)
        : streams(s), stream(id), position(at) {}
    bool done() override { return streams.finished[stream] >= position; }
    void wait() override {
      streams.finished[stream] = std::max(streams.finished[stream], position);
    }
    Streams& streams;
    StreamId stream;
    std::uint64_t position;
  };

  std::shared_ptr<Fence> record(StreamId stream) override {
    if (flaky && random() % 10 == 0) throw DeviceError("no fence this time");
    return std::make_shared<PositionFence>(*this, stream, submitted[stream]);
  }

  void use(AddressRange range, StreamId stream) {
    uses.push_back({range, stream, ++submitted[stream]});
  }
  void finish_one(StreamId stream) {
    if (finished[stream] < submitted[stream]) ++finished[stream];
  }
  /// Fails if work on a stream other than `stream` may still touch `range`.
  void expect_unused(AddressRange range, StreamId stream, const char* what) {
    std::erase_if(uses, [&](const Use& u) { return finished[u.stream] >= u.position; });
    for (const Use& u : uses) {
      if (u.stream == stream || u.range.begin >= range.end() || range.begin >= u.range.end())
        continue;
      ADD_FAILURE() << what << " on stream " << stream << " of memory that " << u.stream << " uses";
    }
  }

  bool flaky = false;
  std::mt19937 random;

 private:
  struct Use {
    AddressRange range;
    StreamId stream;
    std::uint64_t position;
  };
  std::map<StreamId, std::uint64_t> submitted;
  std::map<StreamId, std::uint64_t> finished;
  std::vector<Use> uses;
};

class WatchedPages : public FaultyPages {
 public:
  WatchedPages(std::shared_ptr<PageSource> pages, Streams& streams)
      : FaultyPages(std::move(pages)), streams_(streams) {}
  void unmap(AddressRange range) override {
    streams_.expect_unused(range, kHostStream, "unmap");
    FaultyPages::unmap(range);
  }
  void move(AddressRange from, AddressRange to) override {
    streams_.expect_unused(from, kHostStream, "move");
    FaultyPages::move(from, to);
  }

 private:
  Streams& streams_;
};

void run(std::uint32_t seed, bool flaky) {
  std::mt19937 random(seed);
  const auto streams = std::make_shared<Streams>();
  streams->flaky = flaky;
  streams->random.seed(seed);
  const Budget root = Budget::root("cuda:0", MiB(2) * (8 + random() % 40));
  Arena arena(std::make_shared<WatchedPages>(make_dry_pages(), *streams), root,
              {.fences = streams});
  const Account account = root.account(Tag::user, "test");
  struct Live {
    Block block;
    AddressRange range;
    std::set<StreamId> streams;
  };
  std::vector<Live> live;
  auto release = [&](std::size_t i) {
    std::swap(live[i], live.back());
    for (const StreamId s : live.back().streams) streams->use(live.back().range, s);
    live.pop_back();
  };
  for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
    const auto choice = random() % 100;
    try {
      if (choice < 45) {
        const StreamId stream = random() % 4;
        const Bytes bytes =
            random() % 3 != 0 ? 256 * (1 + random() % 4000) : MiB(1) + random() % MiB(12);
        Live l;
        l.block = arena.allocate(bytes, account, stream);
        l.range = {reinterpret_cast<std::uintptr_t>(l.block.data()), l.block.size()};
        if (stream != kHostStream) l.streams.insert(stream);
        streams->expect_unused(l.range, stream, "allocation");
        live.push_back(std::move(l));
      } else if (choice < 85) {
        if (!live.empty()) release(random() % live.size());
      } else if (choice < 90) {
        if (live.empty()) continue;
        Live& l = live[random() % live.size()];
        const StreamId stream = random() % 4;
        l.block.record_use(stream);
        if (stream != kHostStream) l.streams.insert(stream);
      } else if (choice < 97) {
        streams->finish_one(1 + random() % 3);
      } else if (choice < 98) {
        arena.trim(random() % MiB(32));
      } else {
        arena.prepare(MiB(2) * (1 + random() % 6));
      }
    } catch (const OutOfMemory&) {
      for (int n = 0; n < 3 && !live.empty(); ++n) release(live.size() - 1);
    } catch (const DeviceError&) {
      EXPECT_TRUE(flaky);
    }
    if (i % 50 == 0) arena.check();
  }
  arena.check();
  streams->flaky = false;
  while (!live.empty()) release(live.size() - 1);
  arena.close();
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(root.ledger().live(), 0U);
}

TEST(ArenaStreams, NothingIsReusedMovedOrUnmappedWhileAStreamMayUseIt) {
  for (std::uint32_t seed = 0; seed < 50 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run(seed, false);
  }
}

TEST(ArenaStreams, NorIfFencesFailAtTimes) {
  for (std::uint32_t seed = 0; seed < 50 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run(seed, true);
  }
}

}  // namespace
}  // namespace plimsoll
