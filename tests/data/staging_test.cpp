// Elements on their way to a device that does nothing before somebody waits for it.

#include <sys/resource.h>

#include <mutex>
#include <regex>
#include <set>

#include <gmock/gmock.h>

#include <plimsoll/data/program_ops.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/pipeline_support.h"
#include "device/device_state.h"
#include "support/lazy_backend.h"
#include "support/own_device.h"

namespace plimsoll::data::testing {
namespace {

constexpr std::int64_t kStagedRow = 1024;
constexpr Bytes kStagedBatch = kStagedRow * sizeof(std::int64_t);

Dataset staged_batches(std::int64_t count) {
  return Dataset::range(kStagedRow * count).batch(kStagedRow);
}

Bytes held_as(const Device& device, Tag tag) {
  Bytes bytes = 0;
  for (const Holder& holder : device.budget().ledger().holders()) {
    if (holder.tag == tag) bytes += holder.bytes;
  }
  return bytes;
}

class StagingTest : public ::testing::Test {
 protected:
  static Device open(const std::shared_ptr<LazyBackend>& backend, Bytes limit = MiB(16)) {
    return Device::State::open(backend, {.limit = limit});
  }
  static void expect_batch(const Element& element, std::int64_t index) {
    const auto values = element.at(0).tensor().to_vector<std::int64_t>();
    ASSERT_EQ(values.size(), static_cast<std::size_t>(kStagedRow));
    EXPECT_EQ(values.front(), index * kStagedRow);
    EXPECT_EQ(values.back(), (index + 1) * kStagedRow - 1);
  }

  const std::shared_ptr<LazyBackend> lazy_ = std::make_shared<LazyBackend>(GiB(1));
  const Device device_ = open(lazy_);
  const Device host_ = host();
};

TEST_F(StagingTest, NobodyWaitsBeforeTheRingIsFull) {
  Pipeline pipeline(staged_batches(20).prefetch_to(device_, 3), host_);
  std::vector<Element> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(*pipeline.next());
  pipeline.save();  // whoever ran ahead has let go
  EXPECT_LE(lazy_->host_waits(), 3) << "for those after the third";
  EXPECT_EQ(held_as(host_, Tag::staging), 3 * kStagedBatch);
  expect_batch(kept[1], 1);
  expect_batch(kept[0], 0);
}

TEST_F(StagingTest, ThePoolGivesWayToALoopThatFeedsADevice) {
  const auto priorities = [&](const Dataset& input) {
    std::mutex mutex;
    std::set<int> seen;
    const auto look = [&](const Element& element) {
      const std::lock_guard lock(mutex);
      seen.insert(getpriority(PRIO_PROCESS, 0));
      return element;
    };
    Pipeline pipeline(input.map(look, {.parallel = 2}).prefetch_to(device_, 2), host_);
    while (pipeline.next()) {
    }
    return seen;
  };
  const int here = getpriority(PRIO_PROCESS, 0);
  const std::set<int> seen = priorities(staged_batches(20));
  EXPECT_GT(*seen.rbegin(), std::min(here, 18)) << "lower is a higher number";
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), here) << "the consumer's stays";
}

TEST_F(StagingTest, OneBufferIsUsedAgainAndAgain) {
  Pipeline pipeline(staged_batches(20).prefetch_to(device_, 0), host_);
  std::vector<Element> kept;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(*pipeline.next());
    EXPECT_EQ(lazy_->host_waits(), i) << "for the copy before, and for no other";
    EXPECT_EQ(held_as(host_, Tag::staging), kStagedBatch);
  }
  for (int i = 19; i >= 0; --i) expect_batch(kept[static_cast<std::size_t>(i)], i);
}

TEST_F(StagingTest, BuffersAreNotWrittenWhileTheyAreRead) {
  for (const int count : {0, 1, 2, 4, kAutotune}) {
    Pipeline pipeline(staged_batches(30).prefetch_to(device_, count), host_);
    std::vector<Element> kept;
    while (auto element = pipeline.next()) kept.push_back(std::move(*element));
    ASSERT_EQ(kept.size(), 30U);
    for (int i = 29; i >= 0; --i) expect_batch(kept[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(StagingTest, AReadersStreamWaitsOnTheDevice) {
  const StreamId reader = device_.make_stream();
  Pipeline pipeline(staged_batches(30).prefetch_to(device_, 2), host_);
  std::vector<std::vector<std::int64_t>> seen;
  seen.reserve(30);
  while (const auto element = pipeline.next()) {
    const Tensor tensor = element->at(0).tensor();
    seen.emplace_back(static_cast<std::size_t>(kStagedRow), -1);
    device_.copy(seen.back().data(), tensor.raw_data_on(reader), tensor.nbytes(), reader);
    // The element goes; what the reader has not read yet must not be given to the next one.
  }
  EXPECT_EQ(seen.front().front(), -1) << "nothing has run yet";
  device_.synchronize(reader);
  ASSERT_EQ(seen.size(), 30U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].front(), static_cast<std::int64_t>(i) * kStagedRow);
    EXPECT_EQ(seen[i].back(), static_cast<std::int64_t>(i + 1) * kStagedRow - 1);
  }
}

TEST_F(StagingTest, ATightDeviceWaitsForItsReaders) {
  const Device small = open(lazy_, KiB(256));
  const StreamId reader = small.make_stream();
  Pipeline pipeline(staged_batches(200).prefetch_to(small, 2), host_);
  std::vector<std::vector<std::int64_t>> seen;
  seen.reserve(200);
  while (const auto element = pipeline.next()) {
    const Tensor tensor = element->at(0).tensor();
    seen.emplace_back(static_cast<std::size_t>(kStagedRow), -1);
    small.copy(seen.back().data(), tensor.raw_data_on(reader), tensor.nbytes(), reader);
  }
  small.synchronize(reader);
  ASSERT_EQ(seen.size(), 200U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].front(), static_cast<std::int64_t>(i) * kStagedRow);
  }
}

TEST_F(StagingTest, EverythingGoesBack) {
  const Bytes used = host_.budget().used();
  {
    Pipeline pipeline(staged_batches(10).prefetch_to(device_, 2), host_);
    pipeline.next();
    pipeline.next();
    EXPECT_EQ(held_as(host_, Tag::staging), 2 * kStagedBatch);
    pipeline.pause();
    EXPECT_EQ(held_as(host_, Tag::staging), 0U);
    EXPECT_EQ(held_as(device_, Tag::prefetch), 0U);
    EXPECT_EQ(held_as(device_, Tag::user), 0U);
    EXPECT_EQ(device_.arena().stats().mapped, 0U);
    const auto element = pipeline.next();
    ASSERT_TRUE(element);
    expect_batch(*element, 2);
    while (pipeline.next()) {
    }
    EXPECT_EQ(held_as(host_, Tag::staging), 0U) << "at the end of the stream";
    pipeline.rewind();
    pipeline.next();
    EXPECT_GT(held_as(host_, Tag::staging), 0U);
  }
  EXPECT_EQ(held_as(host_, Tag::staging), 0U);
  EXPECT_EQ(held_as(device_, Tag::prefetch), 0U);
  host_.arena().trim();
  EXPECT_EQ(host_.budget().used(), used);
}

TEST_F(StagingTest, ElementsThatGrowGetLargerBuffers) {
  const auto growing = [](std::int64_t rows) {
    return Dataset::range(8 * rows * kStagedRow).batch(rows * kStagedRow);
  };
  Pipeline pipeline(growing(1).concatenate(growing(3)).concatenate(growing(2)).prefetch_to(device_),
                    host_);
  std::vector<Element> kept;
  while (auto element = pipeline.next()) kept.push_back(std::move(*element));
  ASSERT_EQ(kept.size(), 24U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto values = kept[i].at(0).tensor().to_vector<std::int64_t>();
    EXPECT_EQ(values.front(), static_cast<std::int64_t>((i % 8) * values.size()));
    EXPECT_EQ(values.back(), static_cast<std::int64_t>((i % 8 + 1) * values.size() - 1));
  }
}

TEST_F(StagingTest, ASmallHostBudgetDoesWithoutBuffers) {
  for (const Bytes limit : {KiB(320), KiB(448), KiB(1024)}) {
    const Device small = test::own_cpu({.limit = limit, .page_size = KiB(4)});
    Pipeline pipeline(staged_batches(40).prefetch_to(device_, 2), small);
    int index = 0;
    while (const auto element = pipeline.next()) {
      expect_batch(*element, index++);
      EXPECT_LE(small.budget().used(), limit);
    }
    EXPECT_EQ(index, 40);
  }
}

TEST_F(StagingTest, AnElementThatFindsNoRoomStaysAtTheHead) {
  const Device small = open(lazy_, KiB(128));
  for (const int count : {0, 2}) {
    Pipeline pipeline(staged_batches(40).prefetch_to(small, count), host_);
    std::vector<Element> kept;
    int refused = 0;
    for (int expected = 0; expected < 40;) {
      try {
        const auto element = pipeline.next();
        ASSERT_TRUE(element);
        expect_batch(*element, expected++);
        kept.push_back(*element);
      } catch (const OutOfMemory&) {
        ASSERT_FALSE(kept.empty());
        ++refused;
        kept.clear();
      }
    }
    EXPECT_FALSE(pipeline.next());
    EXPECT_GE(refused, 2);
  }
}

/// Rows of 4 KiB that threads make in the batch's own memory: three times the number of the row.
Dataset tripled(std::int64_t rows) {
  return Dataset::range(rows).map([](Symbolic i) {
    const Symbolic ones = constant_like(i, std::vector<float>(1024, 3));
    return cast(i, DType::f32) * ones;
  });
}

TEST_F(StagingTest, BatchesAreMadeWhereTheyAreSentFrom) {
  constexpr Bytes kLarge = KiB(4) * 256;
  // The most that lay in the host's other memory at a time.
  const auto elsewhere = [&](const Dataset& input, int rows = 3840) {
    const Device own = host();
    Pipeline pipeline(input, own, {.threads = 2});
    int index = 0;
    while (const auto element = pipeline.next()) {
      const auto values = element->at(0).tensor().to_vector<float>();
      for (std::size_t row = 0; row * 1024 < values.size(); ++row) {
        const auto expected =
            static_cast<float>(3 * ((index * 256) % rows + static_cast<int>(row)));
        EXPECT_EQ(values[row * 1024], expected);
        EXPECT_EQ(values[row * 1024 + 1023], expected);
      }
      ++index;
    }
    EXPECT_GE(index, 15);
    return own.arena().stats().live_peak;
  };
  const Dataset batched = tripled(3840).batch(256);
  EXPECT_LT(elsewhere(batched.prefetch_to(device_, 2)), kLarge) << "no batch in other memory";
  EXPECT_LT(elsewhere(batched.prefetch().prefetch_to(device_)), kLarge);
  EXPECT_LT(elsewhere(batched.prefetch().repeat(2).prefetch().prefetch_to(device_, 1)), kLarge);
  EXPECT_LT(elsewhere(tripled(3940).batch(256).prefetch_to(device_, 0), 3940), kLarge);
  // Where they are kept or changed in between, they are copied.
  EXPECT_GE(elsewhere(batched.cache().prefetch_to(device_, 2)), kLarge);
}

TEST_F(StagingTest, BatchesWithTextsAndLabelsAreSentAsTheyAre) {
  const TemporaryFolder folder;
  write_pictures(folder, 12);
  const Dataset input =
      Dataset::image_paths(folder.path().string())
          .map([](Symbolic path, Symbolic label) {
            const std::vector<float> factors = {1, 2, 3};
            return Symbolics{cast(label, DType::f32) * constant_like(label, factors), label, path};
          })
          .batch(5);
  std::vector<std::string> sent = run(input.prefetch_to(device_, 2));
  for (std::string& each : sent) each = std::regex_replace(each, std::regex("cuda:7"), "cpu:0");
  EXPECT_EQ(sent, run(input));
}

TEST_F(StagingTest, SavesAndRestores) {
  const auto dataset = staged_batches(30).shuffle({.elements = 7}).prefetch_to(device_, 3);
  const auto expected = run(staged_batches(30).shuffle({.elements = 7}), {.seed = 2});
  for (const std::size_t stop : {0U, 1U, 17U, 30U}) {
    Pipeline first(dataset, host_, {.seed = 2});
    EXPECT_EQ(rest_of(first, stop).size(), stop);
    Pipeline second(dataset, host_, {.seed = 2});
    second.restore(first.save());
    EXPECT_EQ(rest_of(second).size(), expected.size() - stop);
  }
}

}  // namespace
}  // namespace plimsoll::data::testing
