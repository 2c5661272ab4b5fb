// Mixing datasets, sampling with weights, buckets, windows by key, scan, take_while, rebatch.

#include <map>

#include <gmock/gmock.h>

#include "data/record_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The stream is the same after a restore anywhere, and with other threads and budgets.
void expect_restorable(const Dataset& dataset, std::uint64_t seed = 3) {
  const Device device = host();
  const auto expected = run(dataset, {.seed = seed});
  EXPECT_EQ(run(dataset, {.limit = MiB(1), .threads = 1, .seed = seed}), expected);
  EXPECT_EQ(run(dataset, {.threads = 16, .seed = seed}), expected);
  Pipeline pipeline(dataset, device, {.seed = seed});
  for (std::size_t at = 0; at <= expected.size(); ++at) {
    Pipeline other(dataset, device, {.seed = seed});
    other.restore(pipeline.save());
    EXPECT_EQ(rest_of(other),
              std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(at),
                                       expected.end()))
        << "at " << at;
    rest_of(pipeline, 1);
  }
}

Dataset hundreds(std::int64_t hundred, std::int64_t count) {
  return Dataset::range(100 * hundred, 100 * hundred + count);
}

TEST(SampleFromDatasets, TakesFromEachByItsWeight) {
  const Dataset mixed = Dataset::sample_from_datasets(
      {Dataset::range(100'000), Dataset::range(100'000, 200'000)}, {0.8, 0.2}, {.seed = 1});
  const auto out = numbers(mixed.take(10'000));
  const auto second = std::count_if(out.begin(), out.end(), [](auto n) { return n >= 100'000; });
  EXPECT_NEAR(static_cast<double>(second), 2000, 150);
  // The elements of each stay in order.
  std::int64_t last = -1;
  for (const std::int64_t n : out) {
    if (n >= 100'000) continue;
    EXPECT_EQ(n, last + 1);
    last = n;
  }
}

TEST(SampleFromDatasets, GoesOnWithTheOthersOrStops) {
  const std::vector<Dataset> sets = {hundreds(0, 3), hundreds(1, 30), hundreds(2, 10)};
  auto all = numbers(Dataset::sample_from_datasets(sets, {5, 1, 1}, {.seed = 4}));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 43U);
  EXPECT_EQ(Dataset::sample_from_datasets(sets).cardinality(), 43);
  const auto some =
      numbers(Dataset::sample_from_datasets(sets, {}, {.seed = 4, .stop_on_empty = true}));
  EXPECT_LT(some.size(), 43U);
  EXPECT_THAT(numbers(Dataset::sample_from_datasets(sets, {0, 1, 0})).size(), 30U);
  EXPECT_THAT(message_of([&] {
                Dataset::sample_from_datasets(sets, {1, 2});
              }),
              HasSubstr("weights 1 2 for 3 datasets"));
  EXPECT_THAT(message_of([&] {
                Dataset::sample_from_datasets(sets, {0, 0, 0});
              }),
              HasSubstr("not all 0"));
  expect_restorable(Dataset::sample_from_datasets(
      {hundreds(0, 10).shuffle(4), hundreds(1, 12).map(plus(1), {.parallel = 2})}, {1, 2}));
}

TEST(ChooseFromDatasets, FollowsTheChoice) {
  const std::vector<Dataset> sets = {hundreds(1, 2), hundreds(2, 5), hundreds(3, 5)};
  const auto choice = [](std::vector<std::int64_t> numbers) {
    Indexable set;
    set.size = static_cast<std::int64_t>(numbers.size());
    set.spec = ElementSpec{true, {TensorSpec::scalar(DType::i64)}, {}};
    set.get = [numbers](std::int64_t i) {
      return Element{Value(numbers[static_cast<std::size_t>(i)])};
    };
    return Dataset::from_indexable(set);
  };
  EXPECT_THAT(numbers(Dataset::choose_from_datasets(sets, choice({0, 2, 1, 1, 0}))),
              ElementsAre(100, 300, 200, 201, 101));
  EXPECT_THAT(numbers(Dataset::choose_from_datasets(sets, choice({0, 0, 0, 1}))),
              ElementsAre(100, 101));
  EXPECT_THAT(numbers(Dataset::choose_from_datasets(sets, choice({0, 0, 0, 1}), false)),
              ElementsAre(100, 101, 200));
  EXPECT_THAT(run(Dataset::choose_from_datasets(sets, choice({1, 7, 2}))).at(1),
              HasSubstr("the choice is 7, and there are 3 datasets"));
  expect_restorable(
      Dataset::choose_from_datasets(sets, choice({1, 2, 2, 0, 1, 7, 2, 0, 0, 1}), false));
}

TEST(SampleWeighted, DrawsByWeightWithoutABuffer) {
  std::vector<double> weights(100);
  for (std::size_t i = 0; i < 100; ++i) weights[i] = i % 10 == 0 ? 0 : static_cast<double>(i);
  const Dataset set = Dataset::range(100).sample_weighted(weights, 200'000, 5);
  std::vector<double> seen(100);
  for (const std::int64_t n : numbers(set)) seen[static_cast<std::size_t>(n)] += 1;
  double total = 0;
  for (const double weight : weights) total += weight;
  double chi = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const double expected = 200'000 * weights[i] / total;
    if (expected == 0) {
      EXPECT_EQ(seen[i], 0);
    } else {
      chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
  }
  EXPECT_LT(chi, 137) << "89 degrees of freedom: 99.9% lie below";
  expect_restorable(Dataset::range(100).sample_weighted(weights, 40).repeat(2));
  EXPECT_THAT(message_of([&] { Dataset::range(5).sample_weighted(weights); }),
              HasSubstr("100 weights for 5 elements"));
}

TEST(BalanceClasses, MakesEveryClassEquallyLikely) {
  const TemporaryFolder folder;
  for (int i = 0; i < 90; ++i) folder.write("many/" + std::to_string(i) + ".jpg", "x");
  for (int i = 0; i < 10; ++i) folder.write("few/" + std::to_string(i) + ".jpg", "x");
  const Device device = host();
  const Dataset set = Dataset::image_paths(folder.path()).balance_classes(4000, 2);
  Pipeline pipeline(set, device);
  std::map<std::int64_t, int> seen;
  while (const auto element = pipeline.next()) ++seen[element->at(1).as<std::int64_t>()];
  EXPECT_NEAR(seen[0], 2000, 150);
  EXPECT_THAT(message_of([] { Dataset::range(4).balance_classes(); }),
              HasSubstr("the elements have no classes"));
}

Dataset sequences(std::int64_t count) {
  MapFunction row;
  row.name = "row 1";
  row.output =
      ElementSpec{true, {TensorSpec{DType::i64, std::vector<std::int64_t>{kAnyExtent}}}, {}};
  row.run = [](const Element& element, MapContext& context) {
    const std::int64_t n = number(element);
    Tensor values = context.empty({1 + n * 7 % 12}, DType::i64);
    for (std::int64_t i = 0; i < values.elements(); ++i) values.mutable_data<std::int64_t>()[i] = n;
    return Element{Value(values)};
  };
  return Dataset::range(count).map(row);
}

std::int64_t length_of(const Element& element) { return element.at(0).tensor().dim(0); }

TEST(BucketBySequenceLength, BatchesWhatHasAboutTheSameLength) {
  const Dataset set = sequences(50).bucket_by_sequence_length(length_of, {4, 8}, {5, 4, 3});
  EXPECT_EQ(set.element_spec().components.at(0).dims->size(), 2U);
  const Device device = host();
  Pipeline pipeline(set, device);
  std::int64_t rows = 0;
  while (const auto batch = pipeline.next()) {
    const Tensor& tensor = batch->at(0).tensor();
    rows += tensor.dim(0);
    const std::int64_t most = tensor.dim(1);
    EXPECT_LE(tensor.dim(0), most < 4 ? 5 : most < 8 ? 4 : 3);
  }
  EXPECT_EQ(rows, 50);
  expect_restorable(set);
  BucketOptions padded{.pad_to_boundary = true};
  EXPECT_EQ(run(sequences(50).bucket_by_sequence_length(length_of, {8, 14}, {3, 3, 3}, padded))
                .at(0)
                .find("error"),
            std::string::npos);
  EXPECT_THAT(run(sequences(50).bucket_by_sequence_length(length_of, {4, 8}, {3, 3, 3}, padded)),
              ::testing::Contains(HasSubstr("is not below the last boundary, 8")));
  EXPECT_THAT(message_of([] {
                sequences(3).bucket_by_sequence_length(length_of, {4, 4}, {1, 1, 1});
              }),
              HasSubstr("boundaries must increase"));
}

TEST(GroupByWindow, GivesWhatIsMadeOfEachWindow) {
  const auto parity = [](const Element& element) { return number(element) % 2; };
  const auto batches = [](std::int64_t key, const std::vector<Element>& window) {
    std::int64_t sum = 0;
    for (const Element& each : window) sum += number(each);
    return Dataset::range(sum, sum + 2).map(plus(key * 1000));
  };
  const Dataset set = Dataset::range(7).group_by_window(parity, batches, 3, "sums 1");
  // 0 2 4, then 1 3 5, then what is left: 6.
  EXPECT_THAT(numbers(set), ElementsAre(6, 7, 1009, 1010, 6, 7));
  expect_restorable(set);
  expect_restorable(Dataset::range(40).shuffle(7).group_by_window(parity, batches, 4, "sums 1"));
}

TEST(Scan, HandsAStateOn) {
  const ScanFunction sums = [](const Element& state, const Element& element) {
    const std::int64_t sum = number(state) + number(element);
    if (sum == 10) throw std::runtime_error("ten");
    return std::pair(Element{Value(sum)}, Element{Value(sum), element.at(0)});
  };
  const Dataset set = Dataset::range(1, 7).scan(Element{Value(std::int64_t{0})}, sums, "sums 1");
  EXPECT_THAT(run(set), ElementsAre("(1) (1)", "(3) (2)", "(6) (3)",
                                    HasSubstr("[scan] element (4): ten"), "(11) (5)", "(17) (6)"));
  expect_restorable(set);
}

TEST(TakeWhile, EndsWithTheFirstThatDoesNotHold) {
  const auto below = [](const Element& element) { return number(element) < 5; };
  EXPECT_THAT(numbers(Dataset::range(9).take_while(below)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(numbers(Dataset::range(9).repeat().take_while(below).repeat(2)).size(), 10U);
  expect_restorable(Dataset::range(9).take_while(below).repeat(2));
}

TEST(Rebatch, GivesBatchesOfAnotherSize) {
  EXPECT_THAT(run(Dataset::range(10).batch(4).rebatch(3)).size(), 4U);
  EXPECT_THAT(run(Dataset::range(10).batch(4).rebatch(3, {.drop_remainder = true})).size(), 3U);
}

}  // namespace
}  // namespace plimsoll::data::testing
