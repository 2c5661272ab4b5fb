// Programs in pipelines: the same stream under any setting, saved and restored, within the budget.

#include <gmock/gmock.h>

#include "data/program/random_programs.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Dataset augmented(const TemporaryFolder& folder, int height = 24) {
  return Dataset::image_folder(folder.path().string())
      .shuffle()
      .map([height](Symbolic picture, Symbolic label) {
        const Symbolic part = image::random_crop(picture, 20, 20);
        return Symbolics{image::random_flip(image::resize(part, height, 24)) / 255, label};
      });
}

std::vector<std::string> epochs(Pipeline& pipeline, int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    for (const std::string& each : rest_of(pipeline)) all.push_back(each);
    pipeline.rewind();
  }
  return all;
}

TEST(ProgramPipelines, GiveTheSameStreamForAnyThreadsAndBudget) {
  const TemporaryFolder folder;
  write_pictures(folder, 30);
  const Dataset dataset = augmented(folder).batch(4).prefetch();
  std::vector<std::string> expected;
  for (const int threads : {1, 8}) {
    for (const Bytes limit : {MiB(3), MiB(5), MiB(64)}) {
      const Device device = host();
      Pipeline pipeline(dataset, device, {.limit = limit, .threads = threads, .seed = 5});
      const std::vector<std::string> got = epochs(pipeline, 2);
      if (expected.empty()) expected = got;
      EXPECT_TRUE(got == expected) << threads << " threads, " << limit;
      EXPECT_LE(pipeline.budget().peak(), limit);
    }
  }
  ASSERT_EQ(expected.size(), 16U);
  EXPECT_NE(expected[0], expected[8]);  // another epoch
}

TEST(ProgramPipelines, GoOnFromAnySavedPosition) {
  const TemporaryFolder folder;
  write_pictures(folder, 15);
  const Dataset dataset = augmented(folder).batch(2).prefetch();
  const Device device = host();
  Pipeline whole(dataset, device, {.seed = 3});
  const std::vector<std::string> expected = rest_of(whole);
  for (std::size_t at = 0; at <= expected.size(); ++at) {
    Pipeline first(dataset, device, {.threads = 2, .seed = 3});
    for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(first.next());
    Pipeline second(dataset, device, {.threads = 1, .seed = 3});
    second.restore(first.save());
    const std::vector<std::string> rest = rest_of(second);
    ASSERT_EQ(rest.size(), expected.size() - at);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(),
                           expected.end() - static_cast<std::ptrdiff_t>(rest.size())));
  }
}

TEST(ProgramPipelines, RefuseThePositionOfAnotherProgramAndNameTheDifference) {
  const TemporaryFolder folder;
  write_pictures(folder, 6);
  const Device device = host();
  Pipeline saved(augmented(folder, 24), device);
  Pipeline other(augmented(folder, 25), device);
  const std::string message = message_of<InvalidArgument>([&] { other.restore(saved.save()); });
  EXPECT_THAT(message, HasSubstr("%5 = resize(%4, height=24, width=24"));
  EXPECT_THAT(message, HasSubstr("where this has | %5 = resize(%4, height=25"));
  EXPECT_NE(augmented(folder, 24).signature(), augmented(folder, 25).signature());
  EXPECT_EQ(augmented(folder, 24).signature(), augmented(folder, 24).signature());
}

TEST(ProgramPipelines, WriteStraightIntoTheBatch) {
  const auto source = Dataset::range(64).map([](Symbolic n) {
    return Symbolics{{"row", cast(reshape(n, {1}), DType::f32) *
                                 constant_like(n, std::vector<float>(4096, 1.0F))},
                     {"n", n}};
  });
  const Device device = host();
  Pipeline pipeline(source.batch(8), device, {.limit = MiB(1)});
  std::int64_t next = 0;
  for (const auto& batch : pipeline) {
    const std::vector<float> rows = batch["row"].tensor().to_vector<float>();
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(rows[i * 4096 + 7], static_cast<float>(next++));
  }
  EXPECT_EQ(next, 64);
  // A batch is 128 KiB: two of them, a row or two of its parts, and nothing else.
  EXPECT_LE(pipeline.budget().peak(), KiB(640));
}

TEST(ProgramPipelines, RandomProgramsGiveTheSameStreamEverywhere) {
  const Device device = host();
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram random(seed);
    const Program program =
        trace_program(random.spec(), [&](Symbolics in) { return random.describe(in); });
    Indexable set;
    set.size = 20;
    set.spec = random.spec();
    set.get = [&](std::int64_t i) {
      const Matrix a = random.input(static_cast<unsigned>(i));
      const Matrix b = random.input(static_cast<unsigned>(i) + 500);
      return Element{Value(row_of(a.values, {a.rows, a.columns}, device)),
                     Value(row_of(b.values, {b.rows, b.columns}, device))};
    };
    const Dataset dataset = Dataset::from_indexable(set).map(program);
    const auto expected = run(dataset, {.threads = 1});
    EXPECT_TRUE(run(dataset, {.threads = 8}) == expected);
    EXPECT_EQ(expected.size(), 20U);
    const auto rows = random.evaluate(random.input(3), random.input(503));
    Pipeline pipeline(dataset, device);
    for (int i = 0; i < 3; ++i) pipeline.next();
    EXPECT_EQ(pipeline.next()->at(0).tensor().to_vector<float>(), rows[0].values);
  }
}

TEST(ProgramPipelines, KeepTheBudgetWhenPicturesAreLarge) {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) {
    const auto file =
        image::testing::make_jpeg({.width = 900, .height = 700, .seed = static_cast<unsigned>(i)});
    folder.write("a/" + std::to_string(i) + ".jpg", file.data(), file.size());
  }
  // Whole pictures of 1.8 MiB, and floats of them: more than the budget has for two at a time.
  const auto dataset =
      Dataset::image_folder(folder.path().string()).map([](Symbolic picture, Symbolic label) {
        return Symbolics{mean(cast(picture, DType::f32), {.axes = {0, 1}}), label};
      });
  const Device device = host();
  Pipeline pipeline(dataset, device, {.limit = MiB(16), .threads = 8});
  EXPECT_EQ(rest_of(pipeline).size(), 4U);
  EXPECT_LE(pipeline.budget().peak(), MiB(16));
  // With too little for one, the element is named, with what it takes.
  Pipeline small(dataset, device, {.limit = MiB(4)});
  EXPECT_THAT(message_of<DataError>([&] { small.next(); }), HasSubstr("a/0.jpg: it takes"));
}

TEST(ProgramPipelines, NameTheElementAndTheInstructionThatFails) {
  const TemporaryFolder folder;
  write_pictures(folder, 4);
  folder.write("a/0000.jpg", "no picture");
  const Device device = host();
  Pipeline pipeline(augmented(folder), device, {.skip_errors = 1});
  EXPECT_EQ(rest_of(pipeline).size(), 4U);
  ASSERT_EQ(pipeline.skipped().size(), 1U);
  EXPECT_THAT(pipeline.skipped()[0].message, HasSubstr("a/0000.jpg: "));
  EXPECT_THAT(pipeline.skipped()[0].message, HasSubstr("decode_image(%2"));

  const auto beyond = Dataset::range(4).map([](Symbolic n) { return gather(reshape(n, {1}), n); });
  Pipeline failing(beyond, device);
  ASSERT_TRUE(failing.next());
  EXPECT_THAT(message_of<DataError>([&] { failing.next(); }), HasSubstr("gather(%"));
  EXPECT_THAT(message_of<DataError>([&] { failing.next(); }), HasSubstr("element (2)"));
}

TEST(ProgramPipelines, MapsByProgramsBecomeOne) {
  const auto twice =
      Dataset::range(3).map([](Symbolic n) { return n + 1; }).map([](Symbolic n) { return n * n; });
  EXPECT_THAT(twice.signature(), StartsWith("map(program: add mul)\n"
                                            "| (i64 [])\n"
                                            "| %1 = add(%0, 1) -> i64 []\n"
                                            "| %2 = mul(%1, %1) -> i64 []\n"
                                            "| return %2\n"
                                            "  range("));
  EXPECT_THAT(numbers(twice), ElementsAre(1, 4, 9));
}

}  // namespace
}  // namespace plimsoll::data::testing
