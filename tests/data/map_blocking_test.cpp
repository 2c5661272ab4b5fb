// Functions that may wait: in threads of their own, and otherwise as map() has them.

#include <plimsoll/data/map_blocking.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Counts calls that are there at once; each waits until there were `count` of them, or half a
/// minute, after which something is wrong.
class Crowd {
 public:
  explicit Crowd(int count) : count_(count) {}
  void come() {
    std::unique_lock lock(mutex_);
    ++there_;
    enough_ = enough_ || there_ >= count_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return enough_; });
    --there_;
  }
  bool was_enough() {
    const std::lock_guard lock(mutex_);
    return enough_;
  }

 private:
  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
  bool enough_ = false;
};

MapFunction calling(std::function<Element(const Element&)> plain) {
  MapFunction function;
  function.run = [plain = std::move(plain)](const Element& element, MapContext&) {
    return plain(element);
  };
  return function;
}

MapFunction square_or_fail() {
  return calling([](const Element& element) {
    const std::int64_t n = number(element);
    if (n % 7 == 3) throw std::runtime_error("seven");
    return Element{Value(n * n)};
  });
}

TEST(MapBlocking, MoreCallsWaitAtOnceThanThePipelineHasThreads) {
  Crowd crowd(6);
  const MapFunction wait = calling([&](const Element& element) {
    crowd.come();
    return element;
  });
  const Dataset dataset = map_blocking(Dataset::range(12), wait, {.parallel = 6});
  EXPECT_THAT(numbers(dataset, {.threads = 1}), SizeIs(12));
  EXPECT_TRUE(crowd.was_enough());
}

TEST(MapBlocking, AFunctionThatWaitsLeavesThePoolToOtherStages) {
  // The call waits for one of the pool's only thread; map(..., parallel) of the same length would
  // have taken it.
  Crowd crowd(2);
  const auto meet = [&](const Element& element) {
    if (number(element) > 0) crowd.come();
    return element;
  };
  const Dataset left = map_blocking(Dataset::range(4), calling(meet));
  const Dataset right = Dataset::range(4).map(calling(meet), {.parallel = 2});
  EXPECT_THAT(run(Dataset::zip({left, right}), {.threads = 1}), SizeIs(4));
  EXPECT_TRUE(crowd.was_enough());
}

TEST(MapBlocking, TheStreamIsMapsWithItsErrorsInTheirPlaces) {
  const auto expected = run(Dataset::range(60).map(square_or_fail()));
  for (const int parallel : {1, 3, 8}) {
    for (const int threads : {1, 4}) {
      const Dataset dataset =
          map_blocking(Dataset::range(60), square_or_fail(), {.parallel = parallel});
      EXPECT_EQ(run(dataset, {.threads = threads}), expected) << parallel << " " << threads;
      EXPECT_EQ(dataset.signature(), Dataset::range(60).map(square_or_fail()).signature());
    }
  }
}

TEST(MapBlocking, APositionIsRestoredAnywhere) {
  const Dataset dataset =
      map_blocking(Dataset::range(40).shuffle({.seed = 3}), square_or_fail(), {.parallel = 4});
  const auto expected = run(dataset);
  const Device device = host();
  for (std::size_t at = 0; at < expected.size(); at += 5) {
    Pipeline first(dataset, device);
    rest_of(first, at);
    Pipeline second(dataset, device);
    second.restore(first.save());
    EXPECT_EQ(rest_of(second),
              std::vector(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
}

TEST(MapBlocking, StoppingInTheMiddleWaitsForTheCallAndReturnsAllMemory) {
  const Device device = host();
  for (int taken = 0; taken < 6; ++taken) {
    MapFunction make;
    make.run = [](const Element& element, MapContext& context) {
      Tensor made = context.empty({1024}, DType::f32);
      made.mutable_data<float>()[0] = static_cast<float>(number(element));
      return Element{Value(made)};
    };
    Pipeline pipeline(map_blocking(Dataset::range(100), make, {.parallel = 3}).prefetch(2), device);
    rest_of(pipeline, static_cast<std::size_t>(taken));
  }
  EXPECT_EQ(device.arena().stats().live, 0U);
}

TEST(MapBlocking, ItNeedsAFunctionAndANumberOfCalls) {
  EXPECT_THROW(map_blocking(Dataset::range(3), {}), InvalidArgument);
  try {
    map_blocking(Dataset::range(3), square_or_fail(), {.parallel = 0});
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("parallel is 0; give 1 or more"));
  }
}

TEST(MapBlocking, ShortCallsAreMadeSeveralAtATimeWithinWhatTheyShare) {
  std::atomic<int> entered = 0;
  std::atomic<int> inside = 0;
  const auto within = [&](const std::function<void()>& calls) {
    ++entered;
    ++inside;
    calls();
    --inside;
  };
  std::atomic<int> outside = 0;
  const MapFunction function = calling([&](const Element& element) {
    if (inside == 0) ++outside;
    return element;
  });
  constexpr std::int64_t kCount = 5000;
  const Dataset dataset = map_blocking(Dataset::range(kCount), function, {}, within).batch(100);
  EXPECT_THAT(run(dataset), SizeIs(kCount / 100));
  EXPECT_EQ(outside, 0);
  EXPECT_LT(entered, kCount / 2);
}

TEST(MapBlocking, DatasetsWithinFlatMapHaveThem) {
  const auto inner = [](const Element& outer) {
    return map_blocking(Dataset::range(5), calling([base = number(outer) * 10](const Element& e) {
                          return Element{Value(base + number(e))};
                        }),
                        {.parallel = 2});
  };
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) expected.push_back(10 * i + j);
  }
  EXPECT_EQ(numbers(Dataset::range(4).flat_map(inner), {.threads = 2}), expected);
}

}  // namespace
}  // namespace plimsoll::data::testing
