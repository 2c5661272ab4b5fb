// Elements have names, and pictures of a folder are decoded as late as can be.

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NamedElements, AreFoundByName) {
  const Device device = host();
  const auto named = Dataset::range(6).map([](Symbolic n) {
    return Symbolics{{"number", n}, {"square", n * n}};
  });
  Pipeline pipeline(named.shuffle(3).batch(2).prefetch(), device);
  const auto batch = pipeline.next();
  EXPECT_THAT(batch->names(), ElementsAre("number", "square"));
  const auto numbers = (*batch)["number"].tensor().to_vector<std::int64_t>();
  const auto squares = (*batch)["square"].tensor().to_vector<std::int64_t>();
  EXPECT_EQ(numbers[1] * numbers[1], squares[1]);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)(*batch)["cube"]; }),
              HasSubstr("no component \"cube\" in (i64 [2], i64 [2]); there are number, square"));
  Pipeline nameless(Dataset::range(2), device);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)(*nameless.next())["n"]; }),
              HasSubstr("its components have no names, so use their positions"));
}

TEST(NamedElements, NestedNamesSurviveAndTheirEndsWillDo) {
  const Device device = host();
  const auto a = Dataset::range(4).map([](Symbolic n) { return Symbolics{{"x", n}}; });
  const auto b = Dataset::range(4).map([](Symbolic n) {
    return Symbolics{{"x", n * 10}, {"y", n * 100}};
  });
  Pipeline pipeline(Dataset::zip({a, b}).batch(2), device);
  const auto batch = *pipeline.next();
  EXPECT_EQ(batch["0/x"].tensor().to_vector<std::int64_t>()[1], 1);
  EXPECT_EQ(batch["1/x"].tensor().to_vector<std::int64_t>()[1], 10);
  EXPECT_EQ(batch["y"].tensor().to_vector<std::int64_t>()[1], 100);
  EXPECT_THROW((void)batch["x"], InvalidArgument);
}

TEST(NamedElements, LoopsAndTuplesGoOverEpochs) {
  const Device device = host();
  const auto pairs = Dataset::range(4).map([](Symbolic n) {
    return Symbolics{{"n", n}, {"row", reshape(n, {1})}};
  });
  Pipeline pipeline(pairs, device);
  std::vector<std::int64_t> seen;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto [n, row] : pipeline.tuples<2>()) {
      seen.push_back(n.item<std::int64_t>() * 10 + row.item<std::int64_t>());
    }
  }
  EXPECT_THAT(seen, ElementsAre(0, 11, 22, 33, 0, 11, 22, 33));
  std::int64_t total = 0;
  for (const auto& element : pipeline) total += element["n"].as<std::int64_t>();
  EXPECT_EQ(total, 6);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                for (auto [only] : pipeline.tuples<1>()) (void)only;
              }),
              HasSubstr("elements have 2 components, not 1: (n i64 [], row i64 [1])"));
}

class ImageFolder : public ::testing::Test {
 protected:
  ImageFolder() { write_pictures(folder, 12); }
  Dataset pictures() const { return Dataset::image_folder(folder.path().string()); }
  Dataset paths() const { return Dataset::image_paths(folder.path().string()); }
  TemporaryFolder folder;
};

TEST_F(ImageFolder, GivesPicturesAndLabelsAndTellsClasses) {
  EXPECT_EQ(pictures().element_spec().to_string(), "(image u8 [?,?,3], label i64 [])");
  EXPECT_EQ(paths().element_spec().to_string(), "(path bytes [], label i64 [])");
  EXPECT_THAT(pictures().classes(), ElementsAre("a", "b"));
  EXPECT_THAT(pictures().class_counts(), ElementsAre(6, 6));
  EXPECT_EQ(pictures().cardinality(), 12);
  const Device device = host();
  Pipeline pipeline(pictures(), device);
  const auto first = *pipeline.next();
  EXPECT_EQ(first["image"].shape(), (Shape{30, 40, 3}));
  EXPECT_EQ(first["label"].as<std::int64_t>(), 0);
}

TEST_F(ImageFolder, IsChosenFromBeforeItIsDecoded) {
  const auto resized = [](Symbolic picture, Symbolic label) {
    return Symbolics{image::resize(picture, 8, 8), label};
  };
  // The map is one with decoding, above the stages that choose.
  const Dataset dataset = pictures().shuffle().shard(2, 1).take(5).skip(1).map(resized);
  EXPECT_THAT(dataset.signature(),
              ::testing::StartsWith("map(program: read_file decode_image resize)\n"));
  EXPECT_EQ(dataset.cardinality(), 4);
  EXPECT_EQ(decode_needs(pictures().shard(2, 1).take(5).map(resized)).files, 5);
  // Also where the map comes first; which element comes where is the same.
  const Dataset before = pictures().map(resized).shuffle().shard(2, 1).take(5).skip(1);
  EXPECT_EQ(before.signature(), dataset.signature());
  EXPECT_EQ(run(before, {.seed = 4}), run(dataset, {.seed = 4}));
  const auto window = pictures().shuffle(4).map(resized);
  EXPECT_EQ(window.element_spec().to_string(), "(image f32 [8,8,3], label i64 [])");
  EXPECT_EQ(run(window).size(), 12U);
}

TEST_F(ImageFolder, SplitsIntoPartsOfFiles) {
  const auto [train, validation] = pictures().split(0.75);
  EXPECT_EQ(train.cardinality(), 9);
  EXPECT_EQ(validation.cardinality(), 3);
  EXPECT_NO_THROW(require_disjoint(train.shuffle(), validation));
  EXPECT_EQ(run(train).size(), 9U);
}

TEST_F(ImageFolder, LoadImagesTakesItsPaths) {
  const MapFunction load = load_images({.height = 16, .width = 16});
  EXPECT_EQ(run(pictures().shuffle().map(load).batch(3), {.seed = 2}),
            run(paths().shuffle().map(load).batch(3), {.seed = 2}));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                pictures()
                    .map([](Symbolic picture, Symbolic label) {
                      return Symbolics{image::flip_up_down(picture), label};
                    })
                    .map(load);
              }),
              HasSubstr("load_images takes files"));
}

TEST_F(ImageFolder, PicturesOfDifferentSizesAreNotBatched) {
  const Device device = host();
  Pipeline pipeline(pictures().batch(4), device);
  EXPECT_THAT(message_of<DataError>([&] { pipeline.next(); }), HasSubstr("resize first"));
}

}  // namespace
}  // namespace plimsoll::data::testing
