// padded_batch and window: what recorded outputs of TensorFlow do not show.

#include <gmock/gmock.h>

#include <plimsoll/memory/out_of_memory.h>

#include "data/words.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

MapFunction word(const std::string& name) { return Words::function(name); }

std::vector<std::string> gathered_words(const Dataset& dataset,
                                        const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  std::vector<std::string> result;
  for (;;) {
    try {
      const auto element = pipeline.next();
      if (!element) return result;
      result.push_back(words_of(*element));
    } catch (const DataError& error) {
      result.push_back(error.what());
    }
  }
}

template <typename Make>
std::string shape_refusal(const Make& make) {
  try {
    make();
    return "accepted";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(PaddedBatch, NamesTheElementThatExceedsTheShape) {
  const auto stream = gathered_words(
      Dataset::range(1, 6).map(word("ragged")).padded_batch(2, {.shapes = {{2}}, .values = {}}));
  ASSERT_THAT(stream, SizeIs(3));
  EXPECT_EQ(stream[0], "i64[2,2] 1 0 2 2");
  EXPECT_EQ(stream[1],
            "[padded_batch] element (i64 [3]) has component 0 as i64 [3], which cannot be padded "
            "to i64 [2]; give a larger shape, or cut it first");
  EXPECT_EQ(stream[2], "i64[2,2] 0 0 5 0") << "goes on after it";
}

TEST(PaddedBatch, SaysWhatCannotBe) {
  const Dataset rows = Dataset::range(4).map(word("row"));
  const Dataset pair = Dataset::range(4).map(word("ragged_and_text"));
  EXPECT_THAT(shape_refusal([&] { rows.padded_batch(0); }), HasSubstr("a size of 0"));
  EXPECT_THAT(shape_refusal([&] { rows.padded_batch(2, {.shapes = {{2}}}); }),
              HasSubstr("component 0 is i64 [3] and cannot be padded to [2]"));
  EXPECT_THAT(shape_refusal([&] {
                rows.padded_batch(2, {.shapes = {{-1}, {-1}}});
              }),
              HasSubstr("2 shapes for elements (i64 [3])"));
  EXPECT_THAT(shape_refusal([&] { rows.padded_batch(2, {.shapes = {{-2}}}); }),
              HasSubstr("no shape"));
  EXPECT_THAT(shape_refusal([&] { rows.padded_batch(2, {.values = {0.5F}}); }),
              HasSubstr("component 0 is i64 [3], and its padding value f32"));
  EXPECT_THAT(shape_refusal([&] { pair.padded_batch(2, {.values = {std::int64_t{1}}}); }),
              HasSubstr("component 1 is bytes []"));
  const Device device = host();
  EXPECT_THAT(shape_refusal([&] {
                rows.padded_batch(2, {.values = {Tensor::zeros({2}, DType::i64, device)}});
              }),
              HasSubstr("give a scalar"));
}

TEST(PaddedBatch, ChecksWhileRunningWhatTheSpecDoesNotSay) {
  const auto unknown = Dataset::range(1, 3).flat_map(
      [](const Element& e) { return Dataset::range(number(e)).map(word("ragged1")); });
  EXPECT_THAT(gathered_words(unknown.padded_batch(9, {.values = {0.5F}})).front(),
              HasSubstr("its padding value f32"));
  EXPECT_THAT(gathered_words(unknown.padded_batch(9, {.shapes = {{4}, {4}}})).front(),
              HasSubstr("2 shapes and 0 values"));
  EXPECT_THAT(gathered_words(unknown.padded_batch(9, {.values = {std::int64_t{7}}})),
              ElementsAre("i64[3,2] 0 7 0 7 1 1"));
}

TEST(PaddedBatch, NamesElementsThatDoNotGoTogether) {
  const Device device = host();
  const auto mixed = Dataset::from_indexable(
      {.size = 3, .get = [device](std::int64_t i) {
         return Element{i == 1 ? Value(Tensor::zeros({1, 1}, DType::f32, device))
                               : Value(Tensor::zeros({i + 1}, DType::f32, device))};
       }});
  EXPECT_THAT(gathered_words(mixed.padded_batch(3)),
              ElementsAre("[padded_batch] elements have component 0 as f32 [1] and f32 [1,1]; give "
                          "all of them one dtype and rank",
                          "f32[2,3] 0 0 0 0 0 0"));
}

TEST(PaddedBatch, BatchesAreWritable) {
  const Device device = host();
  Pipeline pipeline(Dataset::range(4).map(word("ragged")).padded_batch(4), device);
  Tensor batch = pipeline.next()->at(0).tensor();
  EXPECT_NO_THROW(batch.mutable_data<std::int64_t>()[0] = 1);
  EXPECT_EQ(batch.shape(), (Shape{4, 3}));
}

TEST(PaddedBatch, CountsItsMemoryAndIsRefusedWithTheNumber) {
  const Device device = host();
  const auto large = Dataset::range(100).map(word("big")).padded_batch(50);
  EXPECT_THROW(Pipeline(large, device, {.limit = MiB(1)}), BudgetTooSmall);
  Pipeline pipeline(large, device, {.limit = MiB(2)});
  EXPECT_THAT(rest_of(pipeline), SizeIs(2));
  EXPECT_LE(pipeline.budget().peak(), MiB(2));
  EXPECT_GE(pipeline.budget().peak(), Bytes{50} * 2'000 * 8 * 2);
}

TEST(PaddedBatch, NothingIsLostWhereMemoryIsShort) {
  const Device device = host();
  // Without a declared spec, so that it starts.
  const auto large = [](const Element&, MapContext& context) {
    return Element{Value(context.empty({100'000}, DType::u8))};
  };
  Pipeline pipeline(Dataset::range(8).map(MapFunction{large}).padded_batch(2), device,
                    {.limit = KiB(800)});
  std::vector<Element> held;
  EXPECT_THROW(
      {
        for (int i = 0; i < 4; ++i) held.push_back(*pipeline.next());
      },
      OutOfMemory);
  ASSERT_FALSE(held.empty());
  const std::size_t before = held.size();
  held.clear();
  EXPECT_THAT(rest_of(pipeline), SizeIs(4 - before));
}

TEST(Window, SlidesAndIsTakenApartAgain) {
  const Dataset windows = Dataset::range(5).window(3, {.shift = 1, .drop_remainder = true});
  EXPECT_THAT(gathered_words(windows), ElementsAre("i64[3] 0 1 2", "i64[3] 1 2 3", "i64[3] 2 3 4"));
  EXPECT_EQ(windows.element_spec().to_string(), "(i64 [3])");
  EXPECT_EQ(windows.cardinality(), 3);
  EXPECT_THAT(numbers(windows.unbatch()), ElementsAre(0, 1, 2, 1, 2, 3, 2, 3, 4));
  // A dataset for each window, as tf.data gives them.
  const auto reversed = [](const Element& window) {
    return Dataset::from_tensor_slices({window.at(0).tensor()}).skip(1).batch(2);
  };
  EXPECT_THAT(gathered_words(windows.flat_map(reversed)),
              ElementsAre("i64[2] 1 2", "i64[2] 2 3", "i64[2] 3 4"));
}

TEST(Window, SaysWhatCannotBe) {
  const Dataset five = Dataset::range(5);
  EXPECT_THAT(shape_refusal([&] { five.window(0); }), HasSubstr("[window] a size of 0"));
  EXPECT_THAT(shape_refusal([&] { five.window(2, {.shift = 0}); }), HasSubstr("shift 0"));
  EXPECT_THAT(shape_refusal([&] { five.window(2, {.stride = 0}); }), HasSubstr("stride 0"));
  EXPECT_THAT(shape_refusal([&] { five.window(std::int64_t{1} << 40, {.stride = 1 << 30}); }),
              HasSubstr("at most"));
}

TEST(Window, KeepsLittleMoreThanItsElements) {
  const Device device = host();
  const auto dataset =
      Dataset::range(200).map(word("big")).window(4, {.shift = 1, .drop_remainder = true});
  Pipeline pipeline(dataset, device);
  while (pipeline.next()) {
  }
  EXPECT_LE(pipeline.budget().peak(), Bytes{2'000} * 8 * (4 + 4 + 1) + KiB(64));
}

TEST(Gather, ErrorsOfTheInputPassOnceAndAreNotSeenAgain) {
  const std::vector<Dataset> datasets = {
      Dataset::range(40).map(word("fails")).window(4, {.shift = 2, .stride = 2}),
      Dataset::range(40).map(word("fails")).window(2, {.shift = 5}),
      Dataset::range(40).map(word("fails")).map(word("ragged1")).padded_batch(3),
      Dataset::range(40).map(word("ragged")).padded_batch(3, {.shapes = {{2}}})};
  const Device device = host();
  for (const Dataset& dataset : datasets) {
    SCOPED_TRACE(dataset.signature());
    Pipeline whole(dataset, device);
    const auto expected = rest_of(whole);
    for (std::size_t stop = 0; stop <= expected.size(); ++stop) {
      Pipeline first(dataset, device);
      rest_of(first, stop);
      Pipeline second(dataset, device);
      second.restore(first.save());
      Pipeline third(dataset, device);
      third.restore(second.save());
      const std::vector<std::string> left(expected.begin() + static_cast<std::ptrdiff_t>(stop),
                                          expected.end());
      EXPECT_EQ(rest_of(second), left) << stop;
      EXPECT_EQ(rest_of(third), left) << stop;
    }
  }
}

}  // namespace
}  // namespace plimsoll::data::testing
