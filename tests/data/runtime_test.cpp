// What runs beside what, and what happens when it is stopped in the middle.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include <plimsoll/memory/out_of_memory.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

/// Waits until `count` calls are there at once, for as long as there are that many to come.
class Meeting {
 public:
  explicit Meeting(int count) : count_(count) {}
  void come() {
    std::unique_lock lock(mutex_);
    ++there_;
    most_ = std::max(most_, there_);
    changed_.notify_all();
    changed_.wait(lock, [&] { return most_ >= count_; });
    --there_;
  }

 private:
  int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
  int most_ = 0;
};

std::vector<std::string> tail(const std::vector<std::string>& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())), all.end()};
}

TEST(Runtime, SequentialStagesOverlapAcrossAPrefetch) {
  // The second element before the prefetch waits for the first one after it.
  Meeting meeting(2);
  const auto before = [&](const Element& element) {
    if (number(element) > 0) meeting.come();
    return element;
  };
  const auto after = [&](const Element& element) {
    meeting.come();
    return element;
  };
  const auto dataset = Dataset::range(20).map(before).prefetch(2).map(after);
  EXPECT_THAT(numbers(dataset, {.threads = 1}), SizeIs(20));
}

TEST(Runtime, ParallelInterleaveRunsItsInputsAtOnceAndKeepsTheOrder) {
  Meeting meeting(3);
  const auto with = [&](bool meet) {
    return [&meeting, meet](const Element& outer) {
      return Dataset::range(4).map([&meeting, meet, base = number(outer) * 10](const Element& e) {
        if (meet) meeting.come();
        return Element{Value(base + number(e))};
      });
    };
  };
  const InterleaveOptions sequential{.cycle_length = 3, .block_length = 2};
  const InterleaveOptions parallel{.cycle_length = 3, .block_length = 2, .parallel = kAutotune};
  EXPECT_EQ(numbers(Dataset::range(7).interleave(with(true), parallel), {.threads = 3}),
            numbers(Dataset::range(7).interleave(with(false), sequential)));
}

TEST(Runtime, AConsumerSleepsUntilItsBatchIsThere) {
  const auto slow = [](const Element& element) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (std::chrono::steady_clock::now() < until) {
    }
    return element;
  };
  const auto sleeps = [] {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  };
  const Device device = host();
  for (const bool ahead : {false, true}) {
    Dataset dataset = Dataset::range(1'000).map(slow, {.parallel = 2}).batch(200);
    if (ahead) dataset = dataset.prefetch(1);
    Pipeline pipeline(dataset, device, {.threads = 2});
    ASSERT_TRUE(pipeline.next());
    const long before = sleeps();
    while (pipeline.next()) {
    }
    EXPECT_LT(sleeps() - before, 100) << "for 4 batches of 800 elements";
  }
}

TEST(Runtime, AnUnorderedMapGivesEverythingAndCannotBeSaved) {
  const Device device = host();
  const auto dataset =
      Dataset::range(500).map(plus(1), {.parallel = 4, .ordered = false}).batch(7).prefetch();
  Pipeline pipeline(dataset, device, {.threads = 4});
  std::set<std::int64_t> seen;
  while (const auto batch = pipeline.next()) {
    for (const std::int64_t each : batch->at(0).tensor().to_vector<std::int64_t>()) {
      seen.insert(each);
    }
  }
  EXPECT_THAT(seen, SizeIs(500));
  EXPECT_EQ(*seen.begin(), 1);
  EXPECT_EQ(*seen.rbegin(), 500);
  try {
    pipeline.save();
    FAIL() << "saved";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("unordered, parallel=4"));
  }
}

Generator counts_to(std::int64_t count, std::function<void()> before) {
  Generator generator;
  generator.blocking = true;
  generator.begin = [=] {
    return [=, n = std::int64_t{0}]() mutable -> std::optional<Element> {
      before();
      if (n == count) return std::nullopt;
      if (++n % 10 == 0) throw std::runtime_error("a ten");
      return Element{Value(n)};
    };
  };
  return generator;
}

TEST(Runtime, ABlockingGeneratorHoldsUpNoPoolThread) {
  // With one pool thread: the generator waits for a map function that is run by it.
  std::latch mapped(1);
  const auto frees = [&](const Element& element) {
    mapped.count_down();
    return element;
  };
  const auto both =
      Dataset::zip({Dataset::range(1).map(frees, {.parallel = 2}),
                    Dataset::from_generator(counts_to(1, [&] { mapped.wait(); })).prefetch(1)});
  EXPECT_THAT(run(both.prefetch(1), {.threads = 1}), SizeIs(1));
}

TEST(Runtime, ABlockingGeneratorIsResumedInTheMiddleErrorsIncluded) {
  const auto dataset = Dataset::from_generator(counts_to(35, [] {})).map(plus(1), {.parallel = 2});
  const auto all = run(dataset, {.threads = 2});
  ASSERT_THAT(all, SizeIs(35));
  const Device device = host();
  for (const std::size_t stop : {0U, 8U, 9U, 10U, 23U, 35U}) {
    Pipeline first(dataset, device, {.threads = 2});
    EXPECT_THAT(rest_of(first, stop), SizeIs(stop));
    Pipeline second(dataset, device, {.threads = 2});
    second.restore(first.save());
    EXPECT_EQ(rest_of(second), tail(all, stop)) << stop;
  }
}

MapFunction fails_on_fives() {
  MapFunction function = plus(0);
  function.name = "fails on fives";
  function.run = [](const Element& element, MapContext&) {
    if (number(element) % 5 == 2) throw std::runtime_error("a five");
    return Element{element.at(0)};
  };
  return function;
}

TEST(Runtime, AnErrorInAnUnfinishedBatchComesOnce) {
  for (const int parallel : {1, 3}) {
    const auto dataset =
        Dataset::range(40).map(fails_on_fives(), {.parallel = parallel}).batch(4).prefetch(2);
    const auto all = run(dataset, {.threads = 2});
    const Device device = host();
    for (std::size_t stop = 0; stop <= all.size(); ++stop) {
      Pipeline first(dataset, device, {.threads = 2});
      rest_of(first, stop);
      Pipeline second(dataset, device, {.threads = 2});
      second.restore(first.save());
      EXPECT_EQ(rest_of(second), tail(all, stop)) << stop;
    }
  }
}

TEST(Runtime, PauseLetsTheBuffersGoAndKeepsThePosition) {
  const Device device = host();
  MapFunction large;
  large.name = "large";
  large.output = ElementSpec{true, {TensorSpec::of(DType::i64, {8192})}, {}};
  large.run = [](const Element& element, MapContext& context) {
    Tensor row = context.output(0);
    for (int i = 0; i < 8192; ++i) row.mutable_data<std::int64_t>()[i] = number(element) + i;
    return Element{Value(row)};
  };
  const auto dataset =
      Dataset::range(40).shuffle({.elements = 10}).map(large, {.parallel = 2}).batch(4).prefetch(3);
  Pipeline whole(dataset, device, {.threads = 2});
  const auto all = rest_of(whole);
  Pipeline pipeline(dataset, device, {.threads = 2});
  std::vector<std::string> seen;
  while (seen.size() < all.size()) {
    for (std::string& each : rest_of(pipeline, 2)) seen.push_back(std::move(each));
    pipeline.pause();
    Bytes held = 0;
    for (const Holder& holder : device.budget().ledger().holders(pipeline.budget().path())) {
      if (holder.tag != Tag::shuffle) held += holder.bytes;
    }
    EXPECT_EQ(held, 0U);
  }
  EXPECT_EQ(seen, all);
  EXPECT_FALSE(pipeline.next().has_value());
}

TEST(Runtime, AShuffleWindowInBytesHoldsWhatFitsIt) {
  // Eight bytes each: a window of ten. An element is at most nine places early.
  const auto shuffled = numbers(Dataset::range(300).shuffle({.bytes = 80}));
  auto sorted = shuffled;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NE(sorted, shuffled);
  EXPECT_THAT(sorted, SizeIs(300));
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  for (std::size_t at = 0; at < shuffled.size(); ++at) {
    EXPECT_LE(shuffled[at], static_cast<std::int64_t>(at) + 9);
  }
  EXPECT_EQ(numbers(Dataset::range(3).shuffle({.bytes = 1})), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Runtime, ErrorsAreSkippedUpToARate) {
  const auto dataset = Dataset::range(1000).map(fails_on_fives(), {.parallel = 2});
  EXPECT_THAT(run(dataset, {.threads = 2, .skip_errors = 1, .skip_rate = 0.25}), SizeIs(800));
  const auto strict = run(dataset, {.threads = 2, .skip_errors = 1, .skip_rate = 0.1});
  EXPECT_TRUE(std::any_of(strict.begin(), strict.end(), [](const std::string& each) {
    return each.find("that were left out") != std::string::npos;
  }));
  EXPECT_THROW(run(dataset, {.skip_rate = 2}), InvalidArgument);
  EXPECT_THAT(run(dataset.ignore_errors(1, 0.25)), SizeIs(800));
}

/// Pipelines with something of everything, under way in several threads.
std::vector<Dataset> busy_ones() {
  const auto inner = [](const Element& outer) {
    return Dataset::range(number(outer) % 5).map(plus(number(outer)));
  };
  return {
      Dataset::range(400)
          .map(plus(1), {.parallel = 3})
          .prefetch(4)
          .map(plus(1))
          .batch(3)
          .prefetch(),
      Dataset::range(200).interleave(inner, {.cycle_length = 4, .parallel = kAutotune}).prefetch(2),
      Dataset::from_generator(counts_to(300, [] {})).prefetch(3).ignore_errors().batch(2),
      Dataset::range(100)
          .map(fails_on_fives(), {.parallel = 2})
          .shuffle({.elements = 20})
          .prefetch(2)
          .repeat(3)
          .take(150)
          .repeat(2),
      Dataset::zip({Dataset::range(200).map(plus(1), {.parallel = 2}).prefetch(2),
                    Dataset::range(200).shuffle({.elements = 9}).prefetch(3)})
          .prefetch(1),
  };
}

TEST(Runtime, DestroyingCancellingAndPausingAnywhereNeitherHangsNorLeaks) {
  const Device device = host();
  for (const Dataset& dataset : busy_ones()) {
    for (const std::size_t stop : {0U, 1U, 2U, 5U, 17U, 60U}) {
      Pipeline pipeline(dataset, device, {.threads = 3});
      rest_of(pipeline, stop);
      if (stop % 2 == 1) pipeline.pause();
      rest_of(pipeline, stop / 2);
      if (stop == 5) pipeline.rewind();
      pipeline.stats();
      if (stop == 17) {
        std::thread other([&] { pipeline.cancel(); });
        rest_of(pipeline);
        other.join();
      }
    }
  }
  EXPECT_EQ(device.budget().ledger().live(), 0U);
}

TEST(Runtime, StatisticsCanBeReadWhileTheConsumerWaits) {
  const Device device = host();
  for (const Dataset& dataset : busy_ones()) {
    Pipeline pipeline(dataset, device, {.threads = 3});
    const auto given = [&] {  // by every stage in turn
      std::vector<std::int64_t> counts;
      for (const StageStats& stage : pipeline.stats()) counts.push_back(stage.elements);
      return counts;
    };
    std::atomic<bool> done = false;
    int reads = 0;
    std::thread reader([&] {
      std::vector<std::int64_t> before = given();
      do {
        const std::vector<std::int64_t> now = given();
        ASSERT_EQ(now.size(), before.size());
        for (std::size_t i = 0; i < now.size(); ++i) EXPECT_GE(now[i], before[i]) << "stage " << i;
        before = now;
        pipeline.bottleneck();
        ++reads;
        std::this_thread::yield();
      } while (!done);
    });
    const std::size_t elements = rest_of(pipeline).size();
    done = true;
    reader.join();
    EXPECT_GT(reads, 0);
    EXPECT_GT(elements, 0U);
    EXPECT_GT(std::ranges::max(given()), 0);
  }
}

TEST(Runtime, OneThreadAndLittleMemoryFinishEverything) {
  for (const Dataset& dataset : busy_ones()) {
    const auto expected = run(dataset, {.threads = 4});
    EXPECT_EQ(run(dataset, {.limit = KiB(300), .threads = 1}), expected);
  }
}

TEST(Runtime, WhatAnotherBranchHoldsAheadMakesWay) {
  MapFunction large;
  large.name = "large";
  large.run = [](const Element& element, MapContext& context) {
    context.empty({600 << 10}, DType::u8);
    return Element{element.at(0)};
  };
  MapFunction kept;
  kept.name = "kept";
  kept.run = [](const Element&, MapContext& context) {
    return Element{Value(context.empty({100 << 10}, DType::u8))};
  };
  const auto dataset = Dataset::zip(
      {Dataset::range(12).map(large, {.parallel = 2}), Dataset::range(12).map(kept).prefetch(8)});
  const Device device = host();
  Pipeline pipeline(dataset, device, {.limit = KiB(800), .threads = 2});
  int seen = 0;
  while (pipeline.next()) ++seen;
  EXPECT_EQ(seen, 12);
}

}  // namespace
}  // namespace plimsoll::data::testing
