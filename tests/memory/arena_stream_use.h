#pragma once

// Blocks of an arena in use on several streams, at random: nothing is given to another stream,
// moved or unmapped while a stream may use it. What a stream is, and how use shows, is the test's:
// a model of streams without memory, or a device that writes the blocks.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::testing {

/// Streams, and what their work does with an arena's memory.
class StreamUse {
 public:
  virtual ~StreamUse() = default;
  virtual std::shared_ptr<PageSource> pages() = 0;
  virtual std::shared_ptr<FenceSource> fences() = 0;
  /// 0 is the host; there are three others.
  virtual StreamId stream(std::uint32_t i) const = 0;
  /// The arena has given `range` to `stream`; `id` is the block's own.
  virtual void taken(AddressRange range, StreamId stream, std::uint32_t id) = 0;
  /// The last work that uses `range` is submitted, to all of `users`; afterwards it is released.
  virtual void last_use(AddressRange range, StreamId owner, const std::set<StreamId>& users,
                        std::uint32_t id) = 0;
  /// Some work of `stream` is done.
  virtual void progress(StreamId stream) { (void)stream; }
  /// All work is done; fails the test if any of it found what it should not.
  virtual void finish() {}
};

/// Fences that cannot be had at times.
class FlakyFences : public FenceSource {
 public:
  static constexpr const char* kMessage = "no fence this time";

  FlakyFences(std::shared_ptr<FenceSource> upstream, std::uint32_t seed)
      : upstream_(std::move(upstream)), random_(seed) {}
  std::shared_ptr<Fence> record(StreamId stream) override {
    if (flaky && random_() % 10 == 0) throw DeviceError(kMessage);
    return upstream_->record(stream);
  }

  bool flaky = false;

 private:
  std::shared_ptr<FenceSource> upstream_;
  std::mt19937 random_;
};

class StreamWorkload {
 public:
  StreamWorkload(StreamUse& use, std::uint32_t seed, bool flaky)
      : use_(use),
        random_(seed),
        flaky_(flaky),
        fences_(std::make_shared<FlakyFences>(use.fences(), seed)),
        page_(use.pages()->page_size()),
        root_(Budget::root("device:0", page_ * (8 + random_() % 40))),
        arena_(use.pages(), root_, {.fences = fences_}) {
    fences_->flaky = flaky;
  }

  void run(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
      try {
        operation();
      } catch (const OutOfMemory&) {
        for (int n = 0; n < 3 && !live_.empty(); ++n) release(live_.size() - 1);
      } catch (const DeviceError& error) {
        EXPECT_TRUE(flaky_);
        EXPECT_STREQ(error.what(), FlakyFences::kMessage);
      }
      if (i % 50 == 0) arena_.check();
    }
    arena_.check();
    fences_->flaky = false;
    while (!live_.empty()) release(live_.size() - 1);
    arena_.close();
    EXPECT_EQ(root_.used(), 0U);
    EXPECT_EQ(root_.ledger().live(), 0U);
    use_.finish();
  }

 private:
  struct Live {
    Block block;
    AddressRange range;
    StreamId owner = kHostStream;
    std::set<StreamId> users;
    std::uint32_t id = 0;
  };

  void operation() {
    const auto choice = random_() % 100;
    if (choice < 45) {
      allocate(use_.stream(random_() % 4));
    } else if (choice < 85) {
      if (!live_.empty()) release(random_() % live_.size());
    } else if (choice < 90) {
      if (live_.empty()) return;
      Live& l = live_[random_() % live_.size()];
      const StreamId stream = use_.stream(random_() % 4);
      l.block.record_use(stream);
      if (stream != kHostStream) l.users.insert(stream);
    } else if (choice < 97) {
      use_.progress(use_.stream(1 + random_() % 3));
    } else if (choice < 98) {
      arena_.trim(random_() % (16 * page_));
    } else {
      arena_.prepare(page_ * (1 + random_() % 6));
    }
  }

  void allocate(StreamId stream) {
    const Bytes bytes = random_() % 3 != 0 ? 256 * (1 + random_() % (page_ / 512))
                                           : page_ / 2 + random_() % (6 * page_);
    Live l;
    l.block = arena_.allocate(bytes, account_, stream);
    l.range = {reinterpret_cast<std::uintptr_t>(l.block.data()), l.block.size()};
    l.owner = stream;
    l.id = ++made_;
    if (stream != kHostStream) l.users.insert(stream);
    use_.taken(l.range, stream, l.id);
    live_.push_back(std::move(l));
  }

  void release(std::size_t i) {
    std::swap(live_[i], live_.back());
    const Live& l = live_.back();
    use_.last_use(l.range, l.owner, l.users, l.id);
    live_.pop_back();
  }

  StreamUse& use_;
  std::mt19937 random_;
  const bool flaky_;
  std::shared_ptr<FlakyFences> fences_;
  const Bytes page_;
  Budget root_;
  Arena arena_;
  Account account_ = root_.account(Tag::user, "test");
  std::vector<Live> live_;
  std::uint32_t made_ = 0;
};

}  // namespace plimsoll::testing
