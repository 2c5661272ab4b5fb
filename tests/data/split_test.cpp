#include <map>
#include <set>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"
#include "data/stages/permutation.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> pass(Pipeline& pipeline) {
  std::vector<std::int64_t> all;
  while (const auto element = pipeline.next()) all.push_back(number(*element));
  return all;
}

/// The message of what `work` throws.
template <class Work>
std::string split_refusal(const Work& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Split, PartsStayApartInEveryEpochWhateverIsShuffled) {
  const Device device = host();
  const Dataset source = Dataset::range(132);
  const std::vector<Dataset> sets{source,
                                  source.shuffle(),
                                  source.shuffle(16),
                                  source.map(plus(0), {.parallel = 2}).shuffle(5),
                                  source.shuffle(7).cache().prefetch(),
                                  source.skip(0).take(132).shuffle()};
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto [train, validation] = sets[i].split(0.8);
    EXPECT_EQ(train.cardinality(), 106);
    EXPECT_EQ(validation.cardinality(), 26);
    const Dataset mixed = i % 2 == 0 ? train.shuffle(32) : train;
    Pipeline first(mixed, device, {.seed = i});
    Pipeline second(validation.map(plus(0)), device, {.seed = i});
    std::set<std::int64_t> trained;
    std::set<std::int64_t> tested;
    for (int epoch = 0; epoch < 3; ++epoch) {
      if (epoch > 0) {
        first.rewind();
        second.rewind();
      }
      const auto a = pass(first);
      const auto b = pass(second);
      EXPECT_EQ(a.size(), 106U);
      EXPECT_EQ(b.size(), 26U);
      trained.insert(a.begin(), a.end());
      tested.insert(b.begin(), b.end());
    }
    EXPECT_EQ(trained.size(), 106U) << "set " << i;
    EXPECT_EQ(tested.size(), 26U) << "set " << i;
    trained.insert(tested.begin(), tested.end());
    EXPECT_EQ(trained.size(), 132U) << "set " << i;
  }
}

TEST(Split, AMapBeforeItChangesNothing) {
  const auto [plain, rest] = Dataset::range(50).split(0.5, 9);
  const auto [mapped, others] = Dataset::range(50).map(plus(0), {.parallel = 3}).split(0.5, 9);
  auto a = numbers(plain);
  auto b = numbers(mapped);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
  EXPECT_EQ(numbers(rest).size(), numbers(others).size());
}

TEST(Split, WhatLeavesOutOrConcatenatesIsSplitBeforeWhatFollowsIt) {
  const Dataset both = Dataset::range(10).concatenate(Dataset::range(10, 20));
  const Dataset rest = Dataset::range(27).skip(7);
  const Dataset second = Dataset::range(40).shard(2, 1);
  for (const Dataset& set : {both, rest, second, Dataset::zip({rest, rest}).map(plus(0))}) {
    EXPECT_THAT(split_refusal([&] { set.prefetch(2).split(0.5); }),
                HasSubstr("split its input instead"));
    EXPECT_THAT(split_refusal([&] { set.map(plus(0), {.parallel = 2}).cache().split(0.5); }),
                HasSubstr("split its input instead"));
  }
  for (const Dataset& set : {both, rest, second}) {
    // By index, or where the ids are indices again.
    for (const Dataset& each : {set, set.shuffle().prefetch(2), set.split(0.5).first.prefetch(2)}) {
      const auto [one, other] = each.split(0.5);
      std::vector<std::int64_t> all = numbers(one);
      for (const std::int64_t n : numbers(other)) all.push_back(n);
      EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(numbers(each)));
      EXPECT_EQ(static_cast<std::int64_t>(all.size()), each.cardinality());
    }
  }
}

TEST(Split, TheSeedDecides) {
  const auto one = Dataset::range(1'000).split(0.5, 1).first;
  EXPECT_EQ(numbers(one), numbers(Dataset::range(1'000).split(0.5, 1).first));
  EXPECT_NE(numbers(one), numbers(Dataset::range(1'000).split(0.5, 2).first));
}

TEST(Split, PartsHaveAnIndexAndCanBeSplitAgain) {
  const auto [train, rest] = Dataset::range(100).split(0.8);
  const auto [validation, test] = rest.split(0.5);
  std::set<std::int64_t> all;
  for (const Dataset& each : {train.shuffle(), validation, test.shuffle()}) {
    for (const std::int64_t n : numbers(each)) all.insert(n);
  }
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(test.cardinality(), 10);
}

TEST(Split, ASavedPartGoesOn) {
  const Dataset part = Dataset::range(40).shuffle(8).split(0.6).first;
  const auto expected = numbers(part, {.seed = 4});
  const Device device = host();
  Pipeline first(part, device, {.seed = 4});
  for (int i = 0; i < 11; ++i) first.next();
  Pipeline second(part, device, {.seed = 4});
  second.restore(first.save());
  EXPECT_EQ(pass(second), std::vector<std::int64_t>(expected.begin() + 11, expected.end()));
}

TEST(Split, WhatCannotBeToldApartIsRefused) {
  const Dataset set = Dataset::range(10);
  EXPECT_THAT(split_refusal([&] { set.batch(2).split(0.5); }),
              HasSubstr("split its input instead"));
  EXPECT_THAT(split_refusal([&] { set.repeat(2).split(0.5); }), HasSubstr("repeat(2)"));
  EXPECT_THAT(split_refusal([&] { set.filter([](const Element&) { return true; }).split(0.5); }),
              HasSubstr("filter"));
  EXPECT_THAT(split_refusal([&] { set.split(1); }), HasSubstr("between 0 and 1"));
  EXPECT_THAT(split_refusal([&] { set.split(0.01); }), HasSubstr("leaves one part empty"));
}

TEST(Split, ThePermutationHasAnInverse) {
  for (const std::int64_t count : {1, 2, 5, 64, 1'000, 65'537}) {
    const Permutation permutation(count, 77);
    for (std::int64_t i = 0; i < count; i += 1 + count / 500) {
      EXPECT_EQ(permutation.inverse(permutation(i)), i);
    }
  }
}

TEST(Parts, TakeAndSkipOfOneShuffledSetAreRefusedForTrainingAndValidation) {
  const Dataset set = Dataset::range(132).shuffle();
  const std::string message =
      split_refusal([&] { require_disjoint(set.skip(26).batch(4), set.take(26).batch(4)); });
  EXPECT_THAT(message, HasSubstr("skip(26)"));
  EXPECT_THAT(message, HasSubstr("take(26)"));
  EXPECT_THAT(message, HasSubstr("set.split(0.8)"));
  // Without a seed, an order that stays is still another one in each pipeline.
  const Dataset once = Dataset::range(9).shuffle({.reshuffle_each_iteration = false});
  EXPECT_THAT(split_refusal([&] { require_disjoint(once.skip(2), once.take(2)); }),
              HasSubstr("split"));
  EXPECT_THAT(split_refusal([&] { require_disjoint(set.shard(2, 0), set.shard(2, 1)); }),
              HasSubstr("split"));
  EXPECT_THAT(split_refusal([&] {
                require_disjoint(Dataset::range(9).split(0.5, 1).first,
                                 Dataset::range(9).split(0.5, 2).second);
              }),
              HasSubstr("overlap"));
}

TEST(Parts, PartsThatStayApartAreNot) {
  const Dataset fixed = Dataset::range(9).shuffle({.seed = 1, .reshuffle_each_iteration = false});
  EXPECT_NO_THROW(require_disjoint(fixed.skip(2), fixed.take(2)));
  EXPECT_NO_THROW(require_disjoint(Dataset::range(9).skip(2).shuffle(), Dataset::range(9).take(2)));
  const auto [train, validation] = Dataset::range(9).split(0.5);
  EXPECT_NO_THROW(require_disjoint(train.shuffle().take(3), validation));
  EXPECT_NO_THROW(require_disjoint(Dataset::range(9).shuffle().take(3), Dataset::range(100)));
}

TEST(Parts, SkippingOfAShuffledSetIsWarnedOf) {
  const Device device = host();
  ::testing::internal::CaptureStderr();
  const Pipeline pipeline(Dataset::range(9).shuffle().skip(2), device, {.name = "train"});
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("[train] skip(2)"));
  EXPECT_THAT(text, HasSubstr("split()"));
  ::testing::internal::CaptureStderr();
  const Pipeline shorter(Dataset::range(9).shuffle().take(2), device);
  const Pipeline before(Dataset::range(9).skip(2).shuffle(), device);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Shuffle, HasShortWords) {
  EXPECT_EQ(Dataset::range(9).shuffle().signature(),
            Dataset::range(9).shuffle({.elements = kWholeSet}).signature());
  EXPECT_EQ(Dataset::range(9).shuffle(1024).signature(),
            Dataset::range(9).shuffle({.elements = 1024}).signature());
  // Parts by position of a source with an index have one, too.
  EXPECT_THAT(numbers(Dataset::range(20).shard(4, 1).skip(1).take(2)), ElementsAre(5, 9));
  auto some = numbers(Dataset::range(20).shard(4, 1).skip(1).take(2).shuffle());
  std::sort(some.begin(), some.end());
  EXPECT_THAT(some, ElementsAre(5, 9));
}

TEST(ImageFolder, TellsClassesAndCounts) {
  const TemporaryFolder folder;
  write_pictures(folder, 11);
  const Dataset files = Dataset::image_folder(folder.path().string());
  EXPECT_THAT(files.classes(), ElementsAre("a", "b"));
  EXPECT_THAT(files.class_counts(), ElementsAre(6, 5));
  const Dataset batches =
      files.take(8).shuffle().map(load_images({.height = 8, .width = 8})).batch(2);
  EXPECT_THAT(batches.classes(), ElementsAre("a", "b"));
  EXPECT_THAT(batches.class_counts(), ElementsAre(6, 2));
  const auto [train, rest] = files.split(0.5);
  const auto a = train.class_counts();
  const auto b = rest.class_counts();
  EXPECT_EQ(a[0] + b[0], 6);
  EXPECT_EQ(a[1] + b[1], 5);
  EXPECT_TRUE(Dataset::range(3).classes().empty());
  EXPECT_TRUE(Dataset::range(3).class_counts().empty());
}

}  // namespace
}  // namespace plimsoll::data::testing
