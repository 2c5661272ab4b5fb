#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>

#include "memory/arena_stream_use.h"
#include "memory/device_stream_use.h"
#include "support/lazy_backend.h"

namespace plimsoll::testing {
namespace {

/// Streams that finish their work at random, and what of it still uses which memory.
class Streams : public FenceSource {
 public:
  struct PositionFence : Fence {
    PositionFence(Streams& s, StreamId id, std::uint64_t at)
        : streams(s), stream(id), position(at) {}
    bool done() override { return streams.finished_[stream] >= position; }
    void wait() override {
      streams.finished_[stream] = std::max(streams.finished_[stream], position);
    }
    Streams& streams;
    StreamId stream;
    std::uint64_t position;
  };

  std::shared_ptr<Fence> record(StreamId stream) override {
    return std::make_shared<PositionFence>(*this, stream, submitted_[stream]);
  }

  void use(AddressRange range, StreamId stream) {
    uses_.push_back({range, stream, ++submitted_[stream]});
  }
  void finish_one(StreamId stream) {
    if (finished_[stream] < submitted_[stream]) ++finished_[stream];
  }
  /// Fails if work on a stream other than `stream` may still touch `range`.
  void expect_unused(AddressRange range, StreamId stream, const char* what) {
    std::erase_if(uses_, [&](const Use& u) { return finished_[u.stream] >= u.position; });
    for (const Use& u : uses_) {
      if (u.stream == stream || u.range.begin >= range.end() || range.begin >= u.range.end())
        continue;
      ADD_FAILURE() << what << " on stream " << stream << " of memory that " << u.stream << " uses";
    }
  }

 private:
  struct Use {
    AddressRange range;
    StreamId stream;
    std::uint64_t position;
  };
  std::map<StreamId, std::uint64_t> submitted_;
  std::map<StreamId, std::uint64_t> finished_;
  std::vector<Use> uses_;
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

class ModelledUse : public StreamUse {
 public:
  std::shared_ptr<PageSource> pages() override { return pages_; }
  std::shared_ptr<FenceSource> fences() override { return streams_; }
  StreamId stream(std::uint32_t i) const override { return i; }
  void taken(AddressRange range, StreamId stream, std::uint32_t) override {
    streams_->expect_unused(range, stream, "allocation");
  }
  void last_use(AddressRange range, StreamId, const std::set<StreamId>& users,
                std::uint32_t) override {
    for (const StreamId user : users) streams_->use(range, user);
  }
  void progress(StreamId stream) override { streams_->finish_one(stream); }

 private:
  std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
  std::shared_ptr<PageSource> pages_ = std::make_shared<WatchedPages>(make_dry_pages(), *streams_);
};

void run(std::uint32_t seed, bool flaky) {
  ModelledUse use;
  StreamWorkload(use, seed, flaky).run(2000);
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

TEST(ArenaStreams, BlocksHoldWhatTheirStreamsWriteOnADeviceThatPutsEverythingOff) {
  const auto device = std::make_shared<LazyBackend>(GiB(1));
  for (std::uint32_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    DeviceStreamUse use(device, {.operations = 1500});
    StreamWorkload(use, seed, seed % 2 == 1).run(1500);
  }
}

}  // namespace
}  // namespace plimsoll::testing
