// Where the stream stands can be saved anywhere and gone back to; threads and budgets change
// nothing in it.

#include <functional>
#include <random>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

MapFunction random_word() {
  MapFunction function;
  function.run = [](const Element& element, MapContext& context) {
    return Element{element.at(0), Value(static_cast<std::int64_t>(context.random(0)[0]))};
  };
  function.name = "random word";
  return function;
}

MapFunction fails_on_sevens() {
  MapFunction function = plus(0);
  function.name = "fails on sevens";
  function.run = [](const Element& element, MapContext&) {
    if (number(element) % 7 == 3) throw std::runtime_error("a seven");
    return Element{element.at(0)};
  };
  return function;
}

MapFunction row_of_numbers() {
  MapFunction function;
  function.name = "row";
  function.output = ElementSpec{true, {TensorSpec::of(DType::i64, {3})}, {}};
  function.run = [](const Element& element, MapContext& context) {
    if (number(element) % 11 == 5) throw std::runtime_error("an eleven");
    Tensor row = context.output(0);
    for (int i = 0; i < 3; ++i) row.mutable_data<std::int64_t>()[i] = number(element) * 10 + i;
    return Element{Value(row)};
  };
  return function;
}

Dataset generated(std::int64_t count) {
  Generator generator;
  generator.begin = [count] {
    return [count, n = std::int64_t{0}]() mutable -> std::optional<Element> {
      if (n == count) return std::nullopt;
      return Element{Value(n++)};
    };
  };
  return Dataset::from_generator(generator);
}

struct Case {
  const char* name;
  Dataset dataset;
  std::int64_t skip_errors = 0;
};

std::vector<Case> cases() {
  const auto odd = [](const Element& e) { return number(e) % 2 == 1; };
  const auto inner = [](const Element& e) {
    return Dataset::range(number(e) % 4).shuffle({.elements = 3}).map(plus(number(e) * 100));
  };
  const MapOptions parallel{.parallel = kAutotune};
  return {
      {"plain", Dataset::range(40).batch(7)},
      {"shuffled", Dataset::range(60).shuffle({.elements = 16}).map(plus(1)).batch(8).repeat(3)},
      {"shuffled twice",
       Dataset::range(30).shuffle({.elements = 8}).repeat(2).shuffle({.elements = 5}).repeat(2)},
      {"shuffled by bytes", Dataset::range(60)
                                .map(fails_on_sevens())
                                .shuffle({.bytes = 100})
                                .shuffle({.elements = 4, .bytes = 80})
                                .prefetch(2)
                                .repeat(2)},
      {"whole set", Dataset::range(50).shuffle({}).map(random_word(), parallel).repeat(3)},
      {"parallel", Dataset::range(80).map(plus(5), parallel).map(plus(1), parallel).batch(3)},
      {"prefetched", Dataset::range(60)
                         .shuffle({.elements = 9})
                         .map(random_word(), parallel)
                         .batch(4)
                         .prefetch(3)
                         .repeat(2)},
      {"map before shuffle",
       Dataset::range(60).map(random_word(), parallel).shuffle({.elements = 12}).prefetch()},
      {"filter", Dataset::range(50).repeat(2).filter(odd).prefetch(2).enumerate()},
      {"interleave", Dataset::range(12)
                         .shuffle({.elements = 4})
                         .interleave(inner, {.cycle_length = 3, .block_length = 2})
                         .batch(2)
                         .repeat(2)},
      {"interleave in parallel",
       Dataset::range(12)
           .map(fails_on_sevens(), parallel)
           .interleave(inner, {.cycle_length = 3, .block_length = 2, .parallel = kAutotune})
           .batch(2)
           .prefetch(2)
           .repeat(2)},
      {"interleave partly in parallel",
       Dataset::range(15).interleave(inner, {.cycle_length = 4, .parallel = 2}).prefetch()},
      {"errors in batches",
       Dataset::range(60).map(fails_on_sevens(), parallel).batch(4).prefetch(2).unbatch()},
      {"flat_map", Dataset::range(15).flat_map(inner).prefetch(4)},
      {"zip", Dataset::zip({Dataset::range(30).map(plus(1), parallel),
                            Dataset::range(25).shuffle({.elements = 6})})
                  .repeat(2)},
      {"concatenate", Dataset::range(9)
                          .shuffle({.elements = 3})
                          .concatenate(Dataset::range(20, 33).map(random_word()).map(plus(2)))
                          .repeat(2)},
      {"cache", Dataset::range(20)
                    .map(random_word(), parallel)
                    .cache()
                    .map(random_word())
                    .shuffle({.elements = 5})
                    .repeat(3)},
      {"unbatch", Dataset::range(40).batch(6).prefetch(1).unbatch().shard(3, 1).skip(2)},
      {"generator", generated(45).map(plus(1), parallel).take(40).repeat(2)},
      {"errors thrown", Dataset::range(40).map(fails_on_sevens(), parallel).prefetch(2)},
      {"errors thrown in order", Dataset::range(40).map(fails_on_sevens()).map(plus(1))},
      {"errors ignored",
       Dataset::range(60).map(fails_on_sevens(), parallel).ignore_errors().batch(4)},
      {"errors skipped", Dataset::range(60).map(fails_on_sevens()).shuffle({.elements = 7}), 100},
      {"in place", Dataset::range(70)
                       .shuffle({.elements = 8})
                       .map(row_of_numbers(), parallel)
                       .ignore_errors()
                       .batch(4)
                       .prefetch(2)
                       .repeat(2)},
  };
}

PipelineOptions options_for(const Case& each, int threads) {
  return {.threads = threads, .seed = 11, .skip_errors = each.skip_errors};
}

TEST(Resume, ARestoredStreamGoesOnAsTheUninterruptedOneDoes) {
  std::mt19937 random(20);
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Device device = host();
    Pipeline whole(each.dataset, device, options_for(each, 2));
    const auto expected = rest_of(whole);
    ASSERT_FALSE(expected.empty());
    for (int trial = 0; trial < 6; ++trial) {
      const std::size_t stop = random() % (expected.size() + 1);
      SCOPED_TRACE(stop);
      Pipeline first(each.dataset, device, options_for(each, 2));
      rest_of(first, stop);
      const std::string position = first.save();
      Pipeline second(each.dataset, device, options_for(each, 1 + trial % 3));
      rest_of(second, random() % 5);
      second.restore(position);
      // Saved again at once, before anything was replayed, and after one more element.
      const std::string again = second.save();
      Pipeline third(each.dataset, device, options_for(each, 2));
      third.restore(again);
      EXPECT_EQ(rest_of(third),
                std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(stop),
                                         expected.end()));
      const auto one = rest_of(second, 1);
      third.restore(second.save());
      const auto tail = rest_of(third);
      const std::size_t skipped = std::min(stop + one.size(), expected.size());
      EXPECT_EQ(tail, std::vector<std::string>(
                          expected.begin() + static_cast<std::ptrdiff_t>(skipped), expected.end()));
    }
  }
}

TEST(Resume, ThreadsAndBudgetsDoNotChangeTheStream) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    std::vector<std::string> expected;
    for (const int threads : {1, 2, 3, 8}) {
      for (const Bytes limit : {MiB(64), KiB(512)}) {
        const Device device = host();
        PipelineOptions options = options_for(each, threads);
        options.limit = limit;
        Pipeline pipeline(each.dataset, device, options);
        const auto stream = rest_of(pipeline);
        if (expected.empty()) expected = stream;
        EXPECT_EQ(stream, expected) << threads << " threads, " << limit;
      }
    }
  }
}

TEST(Resume, SeedsAndEpochsChangeTheStream) {
  const auto shuffled = Dataset::range(100).shuffle({.elements = 50});
  EXPECT_NE(numbers(shuffled, {.seed = 1}), numbers(shuffled, {.seed = 2}));
  const Device device = host();
  Pipeline pipeline(shuffled, device);
  const auto first = rest_of(pipeline);
  pipeline.rewind();
  EXPECT_NE(rest_of(pipeline), first);
}

TEST(Resume, AnotherPipelineIsRefusedByName) {
  const Device device = host();
  Pipeline saved(Dataset::range(10).shuffle({.elements = 4}).batch(2), device);
  Pipeline other(Dataset::range(10).shuffle({.elements = 5}).batch(2), device);
  try {
    other.restore(saved.save());
    FAIL() << "restored";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("has shuffle(4, "));
    EXPECT_THAT(error.what(), HasSubstr("where this has shuffle(5, "));
  }
  std::string position = saved.save();
  EXPECT_THROW(saved.restore(position.substr(0, position.size() - 1)), DataError);
  position.back() = static_cast<char>(position.back() ^ 1);
  EXPECT_THROW(saved.restore(position), DataError);
  EXPECT_THROW(saved.restore("nonsense"), DataError);
}

TEST(Resume, TheNumberOfParallelCallsMayChange) {
  const auto with = [](int parallel) {
    return Dataset::range(60).map(random_word(), {.parallel = parallel}).batch(7);
  };
  const Device device = host();
  Pipeline whole(with(1), device);
  const auto expected = rest_of(whole);
  for (const int saved : {1, 2, 7, kAutotune}) {
    for (const int restored : {1, 3, kAutotune}) {
      Pipeline first(with(saved), device, {.threads = 2});
      rest_of(first, 4);
      Pipeline second(with(restored), device, {.threads = 2});
      second.restore(first.save());
      EXPECT_EQ(rest_of(second), std::vector<std::string>(expected.begin() + 4, expected.end()));
    }
  }
}

TEST(Resume, AWindowTakesFewBytesPerElement) {
  const Device device = host();
  Pipeline pipeline(Dataset::range(1'000'000).shuffle({.elements = 20'000}).batch(100), device);
  for (int i = 0; i < 1000; ++i) pipeline.next();
  EXPECT_LE(pipeline.save().size(), 4 * 20'000 + KiB(64));
}

}  // namespace
}  // namespace plimsoll::data::testing
