// Large records are read by the pipeline's threads before they are asked for; what a shard or a
// skip leaves out is not read at all.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <gmock/gmock.h>

#include "data/record_support.h"
#include "data/records/tfrecord.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

/// Local files that count what is read of them, and can have a reader wait for a second one.
class WatchedStore final : public ByteStore {
 public:
  struct Watch {
    /// Readers may still be at work whenever a test looks.
    void begin_waiting() {
      const std::lock_guard lock(mutex);
      most_reading = 0;
      waits = true;
    }
    void end_waiting() {
      const std::lock_guard lock(mutex);
      waits = false;
    }
    int most_at_once() {
      const std::lock_guard lock(mutex);
      return most_reading;
    }
    /// Since the last call.
    Bytes take_bytes() {
      const std::lock_guard lock(mutex);
      return std::exchange(bytes, 0);
    }

    std::mutex mutex;
    std::condition_variable changed;
    Bytes bytes = 0;
    int reading = 0;
    int most_reading = 0;
    bool waits = false;  ///< for a second reader; a minute at most
  };
  std::shared_ptr<Watch> watch = std::make_shared<Watch>();

  std::shared_ptr<const ByteSource> open(const std::string& name) const override {
    return std::make_shared<Source>(local_files()->open(name), watch);
  }

 private:
  class Source final : public ByteSource {
   public:
    Source(std::shared_ptr<const ByteSource> file, std::shared_ptr<Watch> watch)
        : file_(std::move(file)), watch_(std::move(watch)) {}
    const std::string& name() const override { return file_->name(); }
    ByteStamp stamp() const override { return file_->stamp(); }
    Bytes read(void* to, Bytes bytes, Bytes offset) const override {
      {
        std::unique_lock lock(watch_->mutex);
        watch_->bytes += bytes;
        watch_->most_reading = std::max(watch_->most_reading, ++watch_->reading);
        watch_->changed.notify_all();
        watch_->changed.wait_for(lock, std::chrono::minutes(1),
                                 [&] { return !watch_->waits || watch_->most_reading > 1; });
      }
      const Bytes got = file_->read(to, bytes, offset);
      const std::lock_guard lock(watch_->mutex);
      --watch_->reading;
      return got;
    }

   private:
    std::shared_ptr<const ByteSource> file_;
    std::shared_ptr<Watch> watch_;
  };
};

std::string record(std::size_t number, std::size_t size) {
  std::string text = std::to_string(number) + " ";
  while (text.size() < size) text += static_cast<char>('a' + (text.size() * 7 + number) % 26);
  return text.substr(0, size);
}

/// Of the sizes given; those in `broken` do not match their checksums.
Dataset file_of(const TemporaryFolder& folder, const std::vector<std::size_t>& sizes,
                const std::vector<std::size_t>& broken = {},
                std::shared_ptr<const ByteStore> store = nullptr) {
  std::string file;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::string text = record(i, sizes[i]);
    const std::string tail = tfrecord_tail(text.data(), text.size());
    if (std::count(broken.begin(), broken.end(), i) > 0) text[sizes[i] / 2] ^= 1;
    file += tfrecord_head(text.size()) + text + tail;
  }
  folder.write("a.tfrecord", file);
  return Dataset::tfrecords((folder.path() / "a.tfrecord").string(), {},
                            {.index_from = kUnlimited, .store = std::move(store)});
}

/// Small and large ones in turns of differing lengths.
std::vector<std::size_t> mixed_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 120; ++i) {
    sizes.push_back(i / 9 % 3 == 2 ? 50 + i : 10'000 + i * i * 37 % 90'000);
  }
  return sizes;
}

std::vector<std::string> some_of(const std::vector<std::string>& all, std::size_t first,
                                 std::size_t step) {
  std::vector<std::string> some;
  for (std::size_t i = first; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

TEST(ReadAhead, SeveralThreadsRead) {
  const TemporaryFolder folder;
  const auto store = std::make_shared<WatchedStore>();
  const Dataset set = file_of(folder, std::vector<std::size_t>(40, 100'000), {}, store);
  for (const Dataset& stream : {set, set.shuffle(), set.batch(4).prefetch()}) {
    store->watch->begin_waiting();
    const Device device = host();
    Pipeline pipeline(stream, device, {.threads = 2});
    ASSERT_TRUE(pipeline.next());
    EXPECT_GE(store->watch->most_at_once(), 2);
    EXPECT_EQ(rest_of(pipeline).size(), stream.cardinality() - 1U);
    store->watch->end_waiting();
  }
}

TEST(ReadAhead, TheStreamIsTheSameWithAnyThreadsAndBudget) {
  const TemporaryFolder folder;
  const Dataset set = file_of(folder, mixed_sizes(), {3, 40, 41, 119});
  const auto plain = run(set, {.threads = 1});
  ASSERT_EQ(plain.size(), 120U);
  EXPECT_THAT(plain[40], HasSubstr("record 40 at offset"));
  EXPECT_THAT(plain[40],
              HasSubstr("its contents do not match their checksum (tfrecords, element 40)"));
  EXPECT_EQ(plain[39], "'" + record(39, mixed_sizes()[39]) + "'");
  const auto shuffled = run(set.shuffle().prefetch(), {.threads = 1, .seed = 4});
  for (const int threads : {2, 16}) {
    for (const Bytes limit : {KiB(700), MiB(2), MiB(64)}) {
      const Device device = host();
      Pipeline in_order(set, device, {.limit = limit, .threads = threads});
      EXPECT_EQ(rest_of(in_order), plain) << threads << " threads, " << limit;
      EXPECT_LE(in_order.budget().peak(), limit);
      EXPECT_EQ(run(set.shuffle().prefetch(), {.limit = limit, .threads = threads, .seed = 4}),
                shuffled);
    }
  }
}

TEST(ReadAhead, IsSavedAndRestoredAtEveryPlace) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = file_of(folder, mixed_sizes(), {17, 63}).shuffle().repeat(2);
  Pipeline whole(set, device, {.threads = 1, .seed = 8});
  const auto all = rest_of(whole);
  Pipeline saving(set, device, {.threads = 4, .seed = 8});
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (at % 7 == 0) {
      Pipeline restored(set, device, {.threads = 3, .seed = 8});
      restored.restore(saving.save());
      EXPECT_EQ(rest_of(restored), some_of(all, at, 1)) << at;
    }
    rest_of(saving, 1);
  }
}

TEST(ReadAhead, GivesWayToWhatTheConsumerHolds) {
  const TemporaryFolder folder;
  const Dataset set = file_of(folder, std::vector<std::size_t>(30, 200'000));
  const auto plain = run(set, {.threads = 1});
  const Device device = host();
  Pipeline pipeline(set, device, {.limit = MiB(1), .threads = 4});
  // Four of them are all that fit beside one another.
  std::vector<Element> held;
  for (int i = 0; i < 4; ++i) held.push_back(*pipeline.next());
  EXPECT_LE(pipeline.budget().peak(), MiB(1));
  held.clear();
  EXPECT_EQ(rest_of(pipeline), some_of(plain, 4, 1));
}

TEST(Shards, ReadOnlyWhatIsTheirs) {
  const TemporaryFolder folder;
  const auto store = std::make_shared<WatchedStore>();
  const Dataset set = file_of(folder, std::vector<std::size_t>(64, 30'000), {}, store);
  const auto all = run(set);
  for (const std::int64_t i : {0, 3, 7}) {
    store->watch->take_bytes();
    EXPECT_EQ(run(set.shard(8, i)), some_of(all, static_cast<std::size_t>(i), 8));
    EXPECT_EQ(store->watch->take_bytes(), 8U * 30'016);
  }
  store->watch->take_bytes();
  EXPECT_EQ(run(set.skip(60)), some_of(all, 60, 1));
  EXPECT_EQ(run(set.skip(10).shard(9, 2).skip(5)), some_of(all, 10 + 2 + 5 * 9, 9));
  EXPECT_EQ(store->watch->take_bytes(), (4U + 1) * 30'016);
  EXPECT_EQ(run(set.skip(64)).size() + run(set.skip(-1)).size(), 0U);
  EXPECT_EQ(run(set.shard(1000, 63)), some_of(all, 63, 1000));
  EXPECT_EQ(run(set.shard(1000, 64)).size(), 0U);
}

TEST(Shards, ArePartsByPositionWhateverCannotBeRead) {
  const TemporaryFolder folder;
  const Dataset set = file_of(folder, mixed_sizes(), {4, 5, 6, 77});
  const auto all = run(set);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto part = some_of(all, static_cast<std::size_t>(i), 3);
    EXPECT_EQ(run(set.shard(3, i)), part) << "errors are told by the part that they belong to";
    auto whole = part;
    std::erase_if(whole, [](const std::string& text) { return text.starts_with("error"); });
    EXPECT_EQ(run(set.shard(3, i), {.skip_errors = 9}), whole);
    EXPECT_EQ(run(set.ignore_errors().shard(3, i)), whole);
    EXPECT_EQ(run(set.shard(3, i).repeat(2)).size(), 2 * part.size());
  }
  // skip() counts what comes out.
  auto whole = all;
  std::erase_if(whole, [](const std::string& text) { return text.starts_with("error"); });
  EXPECT_EQ(run(set.ignore_errors().skip(10)), some_of(whole, 10, 1));
}

TEST(Shards, AreSavedAndRestored) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = file_of(folder, mixed_sizes(), {17, 63}).shuffle().shard(3, 1).skip(4);
  Pipeline whole(set, device, {.threads = 1, .seed = 8});
  const auto all = rest_of(whole);
  ASSERT_EQ(all.size(), 36U);
  Pipeline saving(set, device, {.threads = 4, .seed = 8});
  for (std::size_t at = 0; at < all.size(); ++at) {
    Pipeline restored(set, device, {.threads = 3, .seed = 8});
    restored.restore(saving.save());
    EXPECT_EQ(rest_of(restored), some_of(all, at, 1)) << at;
    rest_of(saving, 1);
  }
}

}  // namespace
}  // namespace plimsoll::data::testing
