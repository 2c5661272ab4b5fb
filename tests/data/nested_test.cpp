// Datasets that a function gives while the pipeline runs: their maps run in parallel and their
// prefetches ahead, and the stream is the same as if they did not.

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

/// Calls wait until `count` of them are there at once; from then on none does.
class InnerMeeting {
 public:
  explicit InnerMeeting(int count) : count_(count) {}
  void come() {
    std::unique_lock lock(mutex_);
    if (++there_ >= count_) met_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return met_; });
    --there_;
  }

 private:
  int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
  bool met_ = false;
};

using Inner = std::function<Dataset(const Element&)>;

/// Ten numbers of `outer`, through a map of `parallel` calls at a time.
Inner inner_map(int parallel, std::shared_ptr<InnerMeeting> meeting = nullptr, int prefetch = 0) {
  return [=](const Element& outer) {
    MapFunction function;
    function.name = "inner";
    function.random = true;
    const std::int64_t base = number(outer) * 100;
    function.run = [=](const Element& element, MapContext& context) {
      if (meeting) meeting->come();
      const auto drawn = static_cast<std::int64_t>(context.random(0)[0] % 10);
      return Element{Value((base + number(element)) * 10 + drawn)};
    };
    return Dataset::range(10).map(function, {.parallel = parallel}).prefetch(prefetch);
  };
}

Dataset grouped(const Inner& inner) {
  return Dataset::range(40).group_by_window(
      [](const Element& element) { return number(element) % 3; },
      [inner](std::int64_t key, const std::vector<Element>&) { return inner(Element{Value(key)}); },
      5, "windows");
}

struct Kind {
  const char* name;
  std::function<Dataset(const Inner&)> make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"flat_map", [](const Inner& inner) { return Dataset::range(9).flat_map(inner); }},
      {"interleave",
       [](const Inner& inner) {
         return Dataset::range(9).interleave(inner, {.cycle_length = 3, .block_length = 2});
       }},
      {"parallel interleave",
       [](const Inner& inner) {
         return Dataset::range(9).interleave(
             inner, {.cycle_length = 3, .block_length = 2, .parallel = kAutotune});
       }},
      {"group_by_window", grouped},
      {"flat_map in interleave",
       [](const Inner& inner) {
         return Dataset::range(3).interleave(
             [inner](const Element& outer) {
               return Dataset::range(number(outer) * 3, number(outer) * 3 + 3).flat_map(inner);
             },
             {.cycle_length = 2, .parallel = 2});
       }},
      {"a map after it",
       [](const Inner& inner) {
         return Dataset::range(9).flat_map(inner).map(plus(1), {.parallel = 3}).prefetch(2);
       }},
  };
  return all;
}

TEST(Nested, MapsInsideRunInParallel) {
  for (const Kind& kind : kinds()) {
    const auto meeting = std::make_shared<InnerMeeting>(3);
    // Ends only if three calls are there at once.
    EXPECT_EQ(numbers(kind.make(inner_map(3, meeting)), {.threads = 4}),
              numbers(kind.make(inner_map(1)), {.threads = 1}))
        << kind.name;
  }
}

TEST(Nested, TheStreamIsTheSameForAnyThreadsBudgetAndAhead) {
  for (const Kind& kind : kinds()) {
    const auto expected = numbers(kind.make(inner_map(1)), {.threads = 1});
    for (const int threads : {1, 2, 16}) {
      for (const Bytes limit : {KiB(400), MiB(2), MiB(64)}) {
        for (const int prefetch : {0, 1, kAutotune}) {
          EXPECT_EQ(numbers(kind.make(inner_map(kAutotune, nullptr, prefetch)),
                            {.limit = limit, .threads = threads}),
                    expected)
              << kind.name << ", " << threads << " threads, " << limit << " bytes";
        }
      }
    }
  }
}

TEST(Nested, APositionIsRestoredAnywhere) {
  const Device device = host();
  for (const Kind& kind : kinds()) {
    for (const int prefetch : {0, 2}) {
      const Dataset dataset = kind.make(inner_map(4, nullptr, prefetch));
      const auto expected = run(dataset);
      Pipeline pipeline(dataset, device, {.threads = 3});
      for (std::size_t at = 0; at < expected.size(); ++at) {
        if (at % 7 == 3) {
          Pipeline other(dataset, device, {.threads = 2});
          other.restore(pipeline.save());
          ASSERT_EQ(rest_of(other),
                    std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(at),
                                             expected.end()))
              << kind.name << " at " << at;
          if (at % 2 == 1) pipeline.restore(pipeline.save());
        }
        ASSERT_TRUE(pipeline.next()) << kind.name << " at " << at;
      }
      EXPECT_FALSE(pipeline.next());
    }
  }
}

TEST(Nested, StoppingAndRewindingAnywhereNeitherHangsNorLeaks) {
  const Device device = host();
  for (const Kind& kind : kinds()) {
    const Dataset dataset = kind.make(inner_map(3, nullptr, 1));
    for (int stop = 0; stop < 40; stop += 3) {
      Pipeline pipeline(dataset, device, {.threads = 4});
      for (int i = 0; i < stop; ++i) ASSERT_TRUE(pipeline.next());
      if (stop % 2 == 0) pipeline.rewind();
      if (stop % 5 == 0) pipeline.pause();
      ASSERT_TRUE(pipeline.next());
    }
    EXPECT_EQ(device.budget().ledger().live(), 0U) << kind.name;
  }
}

TEST(Nested, ErrorsInsideComeInTheirPlace) {
  const Inner fails = [](const Element& outer) {
    return Dataset::range(10).map(
        [base = number(outer) * 10](const Element& element) {
          if (number(element) == 4) throw std::runtime_error("a four");
          return Element{Value(base + number(element))};
        },
        {.parallel = 3});
  };
  for (const Kind& kind : kinds()) {
    const Device device = host();
    Pipeline sequential(kind.make(fails), device, {.threads = 1});
    Pipeline parallel(kind.make(fails), device, {.threads = 8});
    EXPECT_EQ(rest_of(sequential), rest_of(parallel)) << kind.name;
  }
}

}  // namespace
}  // namespace plimsoll::data::testing
