// Shuffle windows that do not fit in the budget.

#include <csignal>
#include <filesystem>
#include <map>
#include <random>

#include <sys/resource.h>

#include <gmock/gmock.h>

#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/spill_file.h"
#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kRow = 512;  // of 4 KiB

/// A row of numbers that depend on the element and on what was drawn for it.
MapFunction rows(bool declared = true) {
  MapFunction function;
  function.name = "rows";
  if (declared) {
    function.output =
        ElementSpec{true, {TensorSpec{DType::i64, {{kRow}}}, TensorSpec::scalar(DType::i64)}, {}};
  }
  function.run = [](const Element& element, MapContext& context) {
    Tensor row = context.empty({kRow}, DType::i64);
    const auto seed = static_cast<std::int64_t>(context.random(0)[0]);
    for (std::int64_t i = 0; i < kRow; ++i) {
      row.mutable_data<std::int64_t>()[i] = seed * i + number(element);
    }
    return Element{row, number(element)};
  };
  return function;
}

/// All that next() gives, as one number per element; contents decide it.
std::vector<std::uint64_t> stream(Pipeline& pipeline, std::size_t most = 1'000'000) {
  std::vector<std::uint64_t> hashes;
  while (hashes.size() < most) {
    const auto element = pipeline.next();
    if (!element) break;
    std::uint64_t hash = element->id;
    for (const Value& value : *element) {
      if (value.is_scalar()) {
        hash = mix_ids(hash, value.bits());
        continue;
      }
      for (const std::int64_t each : value.tensor().to_vector<std::int64_t>()) {
        hash = mix_ids(hash, static_cast<std::uint64_t>(each));
      }
    }
    hashes.push_back(hash);
  }
  return hashes;
}

std::string setting_of_shuffle(const Pipeline& pipeline) {
  for (const StageStats& stage : pipeline.stats()) {
    if (stage.stage.starts_with("shuffle")) return stage.setting;
  }
  return "no shuffle";
}

TEST(Spill, AWindowOfManyTimesTheBudgetGivesTheSameStream) {
  const auto dataset =
      Dataset::range(3'000).map(rows()).shuffle({.elements = 1'000}).batch(4).prefetch();
  const Device device = host();
  Pipeline roomy(dataset, device, {.seed = 3});
  const auto expected = stream(roomy);
  ASSERT_EQ(expected.size(), 750U);
  EXPECT_EQ(setting_of_shuffle(roomy), "");
  for (const int threads : {1, 3}) {
    Pipeline tight(dataset, device, {.limit = KiB(512), .threads = threads, .seed = 3});
    auto begun = stream(tight, 100);
    EXPECT_THAT(setting_of_shuffle(tight), HasSubstr("MiB spilled"));
    const auto rest = stream(tight);
    begun.insert(begun.end(), rest.begin(), rest.end());
    EXPECT_EQ(begun, expected);
    EXPECT_LE(tight.budget().peak(), KiB(512));
  }
}

TEST(Spill, AWindowInBytesDoesSo) {
  const auto dataset = Dataset::range(2'000).map(rows(false)).shuffle({.bytes = MiB(3)});
  const Device device = host();
  Pipeline roomy(dataset, device, {.seed = 3});
  const auto expected = stream(roomy);
  Pipeline tight(dataset, device, {.limit = KiB(600), .seed = 3});
  EXPECT_EQ(stream(tight), expected);
  EXPECT_LE(tight.budget().peak(), KiB(600));
}

TEST(Spill, ARestoredWindowGoesOn) {
  const auto dataset =
      Dataset::range(900).map(rows()).shuffle({.elements = 300}).repeat(2).batch(3).prefetch();
  const Device device = host();
  Pipeline roomy(dataset, device, {.seed = 5});
  const auto expected = stream(roomy);
  for (const std::size_t stop : {0U, 1U, 99U, 250U, 300U, 420U, 599U, 600U}) {
    Pipeline first(dataset, device, {.limit = KiB(400), .threads = 2, .seed = 5});
    EXPECT_EQ(stream(first, stop).size(), stop);
    const std::string position = first.save();
    Pipeline second(dataset, device, {.limit = KiB(450), .threads = 1, .seed = 5});
    second.restore(position);
    const std::vector<std::uint64_t> left(expected.begin() + static_cast<std::ptrdiff_t>(stop),
                                          expected.end());
    EXPECT_EQ(stream(second), left) << "stopped after " << stop;
    first.pause();
    EXPECT_EQ(stream(first), left) << "paused after " << stop;
  }
}

TEST(Spill, MemoryThatOthersNeedIsGivenUp) {
  // Rows fill the budget before the batches behind them begin to take any.
  const auto dataset = Dataset::range(600)
                           .map(rows(false))
                           .shuffle({.elements = 300})
                           .map([](const Element& element) { return element; })
                           .batch(100);
  const Device device = host();
  Pipeline roomy(dataset, device, {.seed = 5});
  const auto expected = stream(roomy);
  Pipeline tight(dataset, device, {.limit = MiB(1), .seed = 5});
  EXPECT_EQ(stream(tight), expected);
}

TEST(Spill, WhatIsInTheWindowIsChargedToShuffle) {
  const Device device = host();
  Pipeline pipeline(Dataset::range(200).map(rows()).shuffle({.elements = 100}), device);
  const auto element = pipeline.next();
  std::map<Tag, Bytes> held;
  for (const Holder& holder : device.budget().ledger().holders()) held[holder.tag] += holder.bytes;
  EXPECT_GE(held[Tag::shuffle], 100 * kRow * sizeof(std::int64_t));
  EXPECT_EQ(held[Tag::user], kRow * sizeof(std::int64_t));
  EXPECT_LE(held[Tag::input], 4 * kRow * sizeof(std::int64_t));
}

TEST(Spill, ByteStringsScalarsAndViewsComeBackAsTheyWere) {
  MapFunction function;
  function.run = [](const Element& element, MapContext& context) {
    const auto n = static_cast<std::size_t>(number(element));
    Tensor square = context.empty({7, 5}, DType::f32);
    for (std::int64_t i = 0; i < 35; ++i) {
      square.mutable_data<float>()[i] = static_cast<float>(n) + 0.5F * static_cast<float>(i);
    }
    return Element{context.text(std::string(n * 11 % 3'000, static_cast<char>('a' + n % 26))),
                   square.transpose(0, 1), number(element), n % 2 == 0,
                   context.empty({0, 3}, DType::i32)};
  };
  const auto dataset = Dataset::range(1'500).map(function).shuffle({.elements = 700});
  const auto expected = run(dataset, {.seed = 1});
  EXPECT_EQ(run(dataset, {.limit = KiB(400), .seed = 1}), expected);
}

TEST(Spill, AWindowOfASpecThatNeitherHoldsIsRefusedAtOnce) {
  const auto dataset =
      Dataset::range(1'000).map(rows()).shuffle({.elements = 1'000, .spill_limit = MiB(1)});
  const Device device = host();
  EXPECT_THROW(Pipeline(dataset, device, {.limit = MiB(2)}), BudgetTooSmall);
  Pipeline fits(dataset, device, {.limit = MiB(4)});
  EXPECT_EQ(stream(fits).size(), 1'000U);
}

TEST(Spill, AFullFileIsAnErrorThatNamesBothNumbers) {
  const auto dataset =
      Dataset::range(1'000).map(rows(false)).shuffle({.elements = 1'000, .spill_limit = KiB(512)});
  const Device device = host();
  Pipeline pipeline(dataset, device, {.limit = KiB(700)});
  for (int i = 0; i < 2; ++i) {
    try {
      pipeline.next();
      FAIL() << "was not refused";
    } catch (const BudgetTooSmall& error) {
      EXPECT_THAT(error.what(), HasSubstr("spill_limit is 512 KiB (524288 bytes)"));
      EXPECT_THAT(error.what(), HasSubstr("of file"));
    }
  }
  // Nothing was lost.
  pipeline.budget().set_limit(MiB(16));
  EXPECT_EQ(stream(pipeline).size(), 1'000U);
}

TEST(Spill, AFullFileIsNotBlamedOnTheElementThatFoundNoRoom) {
  const auto dataset = Dataset::range(1'000)
                           .map(rows(false), {.parallel = 2})
                           .shuffle({.elements = 1'000, .spill_limit = KiB(512)})
                           .batch(2);
  const Device device = host();
  for (const std::int64_t skips : {0, -1}) {
    Pipeline pipeline(dataset, device, {.limit = KiB(700), .threads = 2, .skip_errors = skips});
    EXPECT_THROW(pipeline.next(), BudgetTooSmall);
    EXPECT_EQ(pipeline.skipped_count(), 0);
  }
}

TEST(Spill, WithoutAFileItIsOutOfMemory) {
  for (const int parallel : {1, 2}) {
    const auto dataset = Dataset::range(1'000)
                             .map(rows(false), {.parallel = parallel})
                             .shuffle({.elements = 1'000, .spill_limit = 0});
    const Device device = host();
    Pipeline pipeline(dataset, device, {.limit = KiB(700), .threads = 2, .skip_errors = -1});
    EXPECT_THROW(pipeline.next(), OutOfMemory);
    EXPECT_EQ(pipeline.skipped_count(), 0);
  }
}

TEST(Spill, AFolderThatIsNoneIsRefusedAtOnce) {
  const auto dataset =
      Dataset::range(10).map(rows()).shuffle({.elements = 5, .spill_folder = "/no/such/folder"});
  try {
    Pipeline pipeline(dataset, host());
    FAIL() << "was not refused";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder"));
  }
}

TEST(Spill, LeavesNoFileBehind) {
  const TemporaryFolder folder;
  const auto dataset = Dataset::range(1'000).map(rows()).shuffle(
      {.elements = 500, .spill_folder = folder.path().string()});
  const Device device = host();
  Pipeline pipeline(dataset, device, {.limit = KiB(500)});
  stream(pipeline, 10);
  EXPECT_THAT(setting_of_shuffle(pipeline), HasSubstr("spilled"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SpillFile, PlacesAreUsedAgain) {
  SpillFile file("", KiB(64));
  std::mt19937 random(1);
  std::vector<std::pair<std::uint64_t, Bytes>> places;
  std::vector<unsigned> contents;
  for (unsigned i = 0; i < 20'000; ++i) {
    if (places.size() < 8) {
      const Bytes bytes = 4 + random() % 4'000;
      places.emplace_back(file.take(bytes), bytes);
      contents.push_back(i);
      file.write(places.back().first, &i, sizeof i);
    } else {
      const std::size_t at = random() % places.size();
      unsigned found = 0;
      file.read(places[at].first, &found, sizeof found);
      ASSERT_EQ(found, contents[at]);
      file.give(places[at].first, places[at].second);
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(at));
      contents.erase(contents.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const auto& [offset, bytes] : places) file.give(offset, bytes);
  EXPECT_EQ(file.used(), 0U);
  EXPECT_EQ(file.take(KiB(64)), 0U);
  EXPECT_THROW(file.take(1), BudgetTooSmall);
}

TEST(SpillFile, AFullDiskIsAnErrorThatNamesBothNumbers) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 8'192, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  SpillFile file("", MiB(1));
  const std::vector<std::byte> data(16'384);
  std::string message;
  try {
    file.write(file.take(data.size()), data.data(), data.size());
  } catch (const BudgetTooSmall& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("the disk is full: 8 KiB (8192 bytes)"));
  EXPECT_THAT(message, HasSubstr("which has"));
}

}  // namespace
}  // namespace plimsoll::data::testing
