#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<std::int64_t> upto(std::int64_t count) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

TEST(Stages, RangeCountsUpAndDown) {
  EXPECT_THAT(numbers(Dataset::range(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers(Dataset::range(5, 0, -2)), ElementsAre(5, 3, 1));
  EXPECT_THAT(numbers(Dataset::range(3, 3)), IsEmpty());
  EXPECT_EQ(Dataset::range(5, 0, -2).cardinality(), 3);
  EXPECT_THROW(Dataset::range(0, 1, 0), InvalidArgument);
}

TEST(Stages, BatchKeepsOrDropsTheRemainder) {
  EXPECT_THAT(run(Dataset::range(5).batch(2)),
              ElementsAre(HasSubstr("[0 1]"), HasSubstr("[2 3]"), HasSubstr("[4]")));
  EXPECT_THAT(run(Dataset::range(5).batch(2, {.drop_remainder = true})), SizeIs(2));
  EXPECT_EQ(Dataset::range(5).batch(2).cardinality(), 3);
  EXPECT_EQ(Dataset::range(5).batch(2).element_spec().to_string(), "(i64 [?])");
  EXPECT_EQ(Dataset::range(4).batch(2).element_spec().to_string(), "(i64 [2])");
  EXPECT_THAT(run(Dataset::range(0).batch(2)), IsEmpty());
}

TEST(Stages, BatchNamesShapesThatDiffer) {
  const Device device = host();
  const auto ragged =
      Dataset::from_indexable({.size = 2, .get = [device](std::int64_t i) {
                                 return Element{Value(Tensor::zeros({i + 1}, DType::f32, device))};
                               }});
  EXPECT_THAT(run(ragged.batch(2)).front(), HasSubstr("f32 [1] and f32 [2]; use padded_batch"));
}

TEST(Stages, BatchesOfBatchesAndUnbatchUndoEachOther) {
  EXPECT_EQ(numbers(Dataset::range(10).batch(3).unbatch()), upto(10));
  EXPECT_EQ(numbers(Dataset::range(12).batch(3).batch(2).unbatch().unbatch()), upto(12));
  EXPECT_EQ(Dataset::range(12).batch(3).unbatch().cardinality(), 12);
}

TEST(Stages, TakeSkipShardAndEnumerateCountElements) {
  const Dataset ten = Dataset::range(10);
  EXPECT_THAT(numbers(ten.take(2)), ElementsAre(0, 1));
  EXPECT_EQ(numbers(ten.take(-1)), upto(10));
  EXPECT_EQ(numbers(ten.take(20)), upto(10));
  EXPECT_THAT(numbers(ten.skip(8)), ElementsAre(8, 9));
  EXPECT_THAT(numbers(ten.skip(-1)), IsEmpty());
  EXPECT_THAT(numbers(ten.shard(4, 1)), ElementsAre(1, 5, 9));
  EXPECT_EQ(ten.shard(4, 1).cardinality(), 3);
  EXPECT_EQ(ten.shard(4, 2).cardinality(), 2);
  EXPECT_THAT(run(ten.skip(8).enumerate(5)), ElementsAre("(5) (8)", "(6) (9)"));
  EXPECT_EQ(ten.repeat().take(3).cardinality(), 3);
}

TEST(Stages, RepeatEndsOnNothingAndNests) {
  EXPECT_THAT(numbers(Dataset::range(2).repeat(2)), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(numbers(Dataset::range(0).repeat()), IsEmpty());
  EXPECT_THAT(numbers(Dataset::range(2).repeat(2).repeat(2)), SizeIs(8));
  EXPECT_THAT(numbers(Dataset::range(2).repeat().take(5)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_EQ(Dataset::range(2).repeat().cardinality(), kInfinite);
}

TEST(Stages, ZipEndsWithTheShortestAndConcatenateFollows) {
  const auto zipped = Dataset::zip({Dataset::range(3), Dataset::range(10, 20)});
  EXPECT_THAT(run(zipped), ElementsAre("(0) (10)", "(1) (11)", "(2) (12)"));
  EXPECT_EQ(zipped.cardinality(), 3);
  EXPECT_EQ(zipped.element_spec().names, (std::vector<std::string>{"0/0", "1/0"}));
  EXPECT_THAT(numbers(Dataset::range(2).concatenate(Dataset::range(5, 7))),
              ElementsAre(0, 1, 5, 6));
}

TEST(Stages, ConcatenatedSetsThatHaveAnIndexAreShuffledAndSplitAsAWhole) {
  const auto both = Dataset::range(40).concatenate(Dataset::range(100, 110));
  const auto shuffled = numbers(both.shuffle());
  EXPECT_NE(shuffled, numbers(both));
  EXPECT_THAT(shuffled, UnorderedElementsAreArray(numbers(both)));
  const auto [train, validation] = both.split(0.8);
  auto parts = numbers(train.shuffle());
  EXPECT_THAT(parts, SizeIs(40));
  const auto second = numbers(validation);
  parts.insert(parts.end(), second.begin(), second.end());
  EXPECT_THAT(parts, UnorderedElementsAreArray(numbers(both)));
  const auto thrice = both.concatenate(Dataset::range(7, 9));
  EXPECT_EQ(thrice.cardinality(), 52);
  EXPECT_THAT(numbers(thrice.skip(49).shuffle()), UnorderedElementsAre(109, 7, 8));
  const auto odd = Dataset::range(9).filter([](const Element& e) { return number(e) % 2 == 1; });
  EXPECT_THROW(both.concatenate(odd).shuffle(), InvalidArgument);
}

TEST(Stages, FilterAndFlatMapAndInterleaveFollowTensorFlow) {
  EXPECT_THAT(
      numbers(Dataset::range(6).filter([](const Element& e) { return number(e) % 2 == 1; })),
      ElementsAre(1, 3, 5));
  const auto upto_n = [](const Element& e) { return Dataset::range(number(e)); };
  EXPECT_THAT(numbers(Dataset::range(4).flat_map(upto_n)), ElementsAre(0, 0, 1, 0, 1, 2));
  // The example of tf.data.Dataset.interleave's documentation.
  const auto five_times = [](const Element& e) {
    const std::int64_t n = number(e);
    return Dataset::range(0, 6).map([n](const Element&) { return Element{Value(n)}; });
  };
  EXPECT_THAT(
      numbers(Dataset::range(1, 6).interleave(five_times, {.cycle_length = 2, .block_length = 4})),
      ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5,
                  5, 5, 5));
}

TEST(Stages, ShuffleIsAPermutationWithinItsWindow) {
  const auto shuffled = numbers(Dataset::range(1000).shuffle({.elements = 50, .seed = 3}));
  EXPECT_NE(shuffled, upto(1000));
  for (std::size_t i = 0; i < shuffled.size(); ++i) {
    EXPECT_LT(shuffled[i], static_cast<std::int64_t>(i) + 50) << "came before it was in the window";
  }
  auto sorted = shuffled;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, upto(1000));
  EXPECT_EQ(numbers(Dataset::range(5).shuffle({.elements = 1})), upto(5));
  EXPECT_THAT(numbers(Dataset::range(5).shuffle({.elements = 99})), SizeIs(5));
}

TEST(Stages, WholeSetShuffleIsAPermutationAnotherInEachEpoch) {
  const auto both = numbers(Dataset::range(777).shuffle({.elements = kWholeSet}).repeat(2));
  const std::vector<std::int64_t> first(both.begin(), both.begin() + 777);
  const std::vector<std::int64_t> second(both.begin() + 777, both.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 777U);
  EXPECT_EQ(std::set<std::int64_t>(second.begin(), second.end()).size(), 777U);
  EXPECT_THROW(Dataset::range(3).repeat().shuffle({}), InvalidArgument);
}

TEST(Stages, CacheReadsItsInputOnce) {
  const auto calls = std::make_shared<int>(0);
  const auto counted = Dataset::range(5).map([calls](const Element& e) {
    ++*calls;
    return e;
  });
  EXPECT_THAT(numbers(counted.cache().repeat(3)), SizeIs(15));
  EXPECT_EQ(*calls, 5);
}

/// Rows of 8 KiB whose extents are not declared, and how many were made.
Dataset counted_rows(const std::shared_ptr<std::atomic<int>>& calls, std::int64_t count) {
  MapFunction function;
  function.name = "rows";
  function.random = false;
  function.run = [calls](const Element& element, MapContext& context) {
    ++*calls;
    if (number(element) % 50 == 33) throw std::runtime_error("a bad one");
    Tensor row = context.empty({2048}, DType::i32);
    for (int i = 0; i < 2048; ++i) {
      row.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(number(element)) * 7 + i;
    }
    return Element{Value(row)};
  };
  return Dataset::range(count).map(function, {.parallel = 3});
}

/// The rows by their sums, errors as their messages.
std::vector<std::string> sums(Pipeline& pipeline, std::size_t most = 100'000) {
  std::vector<std::string> result;
  while (result.size() < most) {
    try {
      const auto element = pipeline.next();
      if (!element) break;
      std::int64_t sum = 0;
      for (const std::int32_t value : element->at(0).tensor().to_vector<std::int32_t>()) {
        sum = (sum * 31 + value) % 1'000'000'007;
      }
      result.push_back(std::to_string(sum));
    } catch (const DataError& error) {
      result.push_back(error.what());
    }
  }
  return result;
}

std::vector<std::string> sums(const Dataset& dataset, const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  return sums(pipeline);
}

TEST(Stages, ACacheLargerThanTheBudgetKeepsWhatFits) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Dataset rows = counted_rows(calls, 300);
  const auto expected = sums(rows.cache().repeat(4));  // has room: errors come once
  EXPECT_EQ(*calls, 300);
  EXPECT_EQ(expected.size(), 4 * 300U - 3 * 6);
  for (const Bytes limit : {KiB(500), MiB(1), MiB(2)}) {
    *calls = 0;
    EXPECT_EQ(sums(rows.cache().repeat(4), {.limit = limit}), expected) << limit;
    EXPECT_GT(*calls, 300);
    *calls = 0;
    EXPECT_EQ(sums(rows.cache().repeat(4).prefetch(3), {.limit = limit, .threads = 1}), expected);
  }
}

TEST(Stages, ACacheOfElementsWhoseSizeIsKnownKeepsWhatFitsAsWell) {
  const Device device = host();
  std::vector<float> values(std::size_t{4096} * 256);  // 4 MiB
  std::iota(values.begin(), values.end(), 0.0F);
  const Tensor rows = Tensor::from_values(std::span<const float>(values), {4096, 256}, device);
  const Dataset cached = Dataset::from_tensor_slices({rows}).cache().repeat(2);
  Pipeline pipeline(cached, device, {.limit = MiB(1)});
  std::int64_t count = 0;
  for (const Element& each : pipeline) {
    EXPECT_EQ(each[0].tensor().data<float>()[0], static_cast<float>(count % 4096 * 256));
    ++count;
  }
  EXPECT_EQ(count, 2 * 4096);
}

TEST(Stages, ACacheGivesWayWhenTheLimitIsLowered) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Dataset rows = counted_rows(calls, 300).cache().repeat(4);
  const auto expected = sums(rows);
  const Device device = host();
  for (const std::size_t lowered : {20U, 150U, 299U, 400U, 777U}) {
    Pipeline pipeline(rows, device, {.limit = MiB(16)});
    auto all = sums(pipeline, lowered);
    const Bytes before = pipeline.budget().used();
    pipeline.budget().set_limit(KiB(700));
    EXPECT_LE(pipeline.budget().used(), std::max(before, KiB(700)));
    Pipeline other(rows, device, {.limit = KiB(700)});
    other.restore(pipeline.save());
    const auto rest = sums(pipeline);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(all, expected) << "lowered after " << lowered;
    EXPECT_EQ(sums(other), rest);
  }
}

TEST(Stages, CachedTensorsCannotBeWritten) {
  const Device device = host();
  const Tensor rows = Tensor::from_values({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}, device);
  Pipeline pipeline(Dataset::from_tensor_slices({rows}).cache().repeat(2), device);
  Tensor first = pipeline.next()->at(0).tensor();
  EXPECT_THROW((void)first.mutable_data<float>(), InvalidArgument);
  pipeline.next();
  EXPECT_EQ(pipeline.next()->at(0).tensor().to_vector<float>(), (std::vector<float>{1, 2}));
  Tensor own = first.clone(device, {});
  own.mutable_data<float>()[0] = 9;
  EXPECT_EQ(first.data<float>()[0], 1.0F);
}

TEST(Stages, GeneratorsBeginAgainInEachEpoch) {
  Generator generator;
  generator.begin = [] {
    return [n = std::int64_t{0}]() mutable -> std::optional<Element> {
      if (n == 3) return std::nullopt;
      return Element{Value(n++)};
    };
  };
  EXPECT_THAT(numbers(Dataset::from_generator(generator).repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Stages, TensorSlicesAreViewsAndScalarsInline) {
  const Device device = host();
  const Tensor matrix = Tensor::from_values({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}, device);
  const Tensor labels = Tensor::from_values({std::int64_t{7}, std::int64_t{8}}, {2}, device);
  Pipeline pipeline(Dataset::from_tensor_slices({matrix, labels}, {"x", "y"}), device);
  const auto first = pipeline.next();
  EXPECT_EQ(first->at(0).tensor().storage(), matrix.storage());
  EXPECT_TRUE(first->at(1).is_scalar());
  EXPECT_EQ(first->at(1).as<std::int64_t>(), 7);
  EXPECT_EQ(pipeline.element_spec().to_string(), "(x f32 [2], y i64 [])");
}

TEST(Stages, TextLinesCrossBuffersAndFiles) {
  const TemporaryFolder folder;
  const std::string longer(200'000, 'x');
  folder.write("a.txt", "one\r\n" + longer + "\n\nlast");
  folder.write("b.txt", "");
  folder.write("c.txt", "four\n");
  std::vector<std::string> paths;
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) paths.push_back(folder.path() / name);
  EXPECT_THAT(run(Dataset::text_lines(paths)),
              ElementsAre("'one'", "'" + longer + "'", "''", "'last'", "'four'"));
}

TEST(Stages, ImageFoldersNumberTheirClasses) {
  const TemporaryFolder folder;
  write_pictures(folder, 4);
  folder.write("a/notes.txt", "not a picture");
  const Dataset files = Dataset::image_paths(folder.path());
  EXPECT_EQ(files.cardinality(), 4);
  const auto all = run(files);
  EXPECT_THAT(all[0], HasSubstr("a/1000.jpg' (0)"));
  EXPECT_THAT(all[3], HasSubstr("b/1003.jpg' (1)"));
  EXPECT_THROW(Dataset::image_folder(folder.path() / "a"), DataError);
  EXPECT_THROW(Dataset::list_files(folder.path() / "*.png"), DataError);
}

}  // namespace
}  // namespace plimsoll::data::testing
