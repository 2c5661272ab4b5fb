// Pictures in programs: what is fused with decoding has the bits of the ops one by one, and those
// of load_images.

#include <gmock/gmock.h>

#include <plimsoll/data/augment.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<float> kMean = {0.485F, 0.456F, 0.406F};
const std::vector<float> kDeviation = {0.229F, 0.224F, 0.225F};

/// Every picture that was recorded (baseline, progressive, gray, with alpha, interlaced, damaged).
std::vector<std::string> paths() {
  std::vector<std::string> result;
  for (const auto& path : image::testing::recorded_pictures()) result.push_back(path.string());
  return result;
}

using Picture = std::function<Symbolic(Symbolic decoded)>;

/// The result of `picture` fused with decoding, and one by one: with the decoded picture and what
/// comes of it as results of their own, nothing can be left out.
struct TwoWays {
  TwoWays(const Picture& picture, int channels)
      : fused(trace_program(elements_of({TensorSpec::scalar(DType::bytes)}),
                            [&](Symbolic path) {
                              return picture(
                                  image::decode(read_file(path), {.channels = channels}));
                            })),
        apart(trace_program(elements_of({TensorSpec::scalar(DType::bytes)}), [&](Symbolic path) {
          const Symbolic contents = read_file(path);
          const Symbolic decoded = image::decode(contents, {.channels = channels});
          return Symbolics{picture(decoded), decoded, contents};
        })) {}
  Program fused;
  Program apart;
};

void expect_same_bits(const Picture& picture, int channels = 3) {
  const Device device = host();
  const TwoWays ways(picture, channels);
  int compared = 0;
  for (const std::string& path : paths()) {
    const Element file = {text_value(path, device)};
    std::optional<Element> apart;
    try {
      apart = ways.apart.run(file, device);
    } catch (const DataError&) {  // a damaged one, or too small
      EXPECT_THROW(ways.fused.run(file, device), DataError) << path;
      continue;
    }
    const Element fused = ways.fused.run(file, device);
    EXPECT_EQ(fused[0].shape(), (*apart)[0].shape()) << path;
    EXPECT_TRUE(bits_of(fused[0]) == bits_of((*apart)[0])) << path;
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

TEST(ProgramImages, ResizingWhileDecodingChangesNoBit) {
  for (const int channels : {1, 3, 4}) {
    SCOPED_TRACE(channels);
    expect_same_bits([](Symbolic x) { return image::resize(x, 37, 53); }, channels);
  }
}

TEST(ProgramImages, ResizingFloatsWhileDecodingChangesNoBit) {
  for (const int channels : {1, 3, 4}) {
    SCOPED_TRACE(channels);
    expect_same_bits([](Symbolic x) { return image::resize(cast(x, DType::f32), 37, 53); },
                     channels);
  }
  expect_same_bits([](Symbolic x) {
    const Symbolic small = image::resize(cast(x, DType::f32), 11, 9);
    return image::normalize(image::random_flip(small), kMean, kDeviation);
  });
  // These are not fused: whole numbers are weighted otherwise.
  expect_same_bits(
      [](Symbolic x) { return image::resize(cast(x, DType::f32), 24, 31, {.antialias = true}); });
  expect_same_bits([](Symbolic x) { return image::random_crop(cast(x, DType::f32), 6, 5); });
}

TEST(ProgramImages, OtherFiltersChangeNoBitEither) {
  for (const image::Filter filter :
       {image::Filter::nearest, image::Filter::bicubic, image::Filter::area}) {
    expect_same_bits([filter](Symbolic x) { return image::resize(x, 24, 31, {.filter = filter}); });
  }
  expect_same_bits([](Symbolic x) { return image::resize(x, 24, 31, {.antialias = true}); });
}

TEST(ProgramImages, RandomResizedCropsWhileDecodingChangeNoBit) {
  for (const bool antialias : {false, true}) {
    for (const int channels : {1, 3, 4}) {
      expect_same_bits(
          [antialias](Symbolic x) {
            image::ResizedCropOptions options;
            options.resize.antialias = antialias;
            return image::random_flip(image::random_resized_crop(x, 29, 33, options));
          },
          channels);
    }
  }
}

TEST(ProgramImages, CropsFlipsPlanesAndNormalisingAreFusedWithTheSameBits) {
  expect_same_bits([](Symbolic x) {
    return image::normalize(image::resize(image::center_crop(x, 9, 7), 20, 30), kMean, kDeviation);
  });
  expect_same_bits([](Symbolic x) {
    return image::flip_left_right(image::resize(image::crop(x, 1, 2, 8, 6), 20, 30));
  });
  expect_same_bits([](Symbolic x) {
    return transpose(image::to_unit(image::flip_left_right(image::resize(x, 20, 31))), {2, 0, 1});
  });
  expect_same_bits([](Symbolic x) {
    return image::random_flip(image::resize(image::random_crop(x, 8, 6), 21, 33));
  });
}

TEST(ProgramImages, ArithmeticAfterResizingHasTheSameBits) {
  expect_same_bits([](Symbolic x) {
    const Symbolic unit = image::resize(x, 20, 30) / 255;
    return (unit - constant_like(x, kMean)) / constant_like(x, kDeviation);
  });
  expect_same_bits([](Symbolic x) { return image::flip_up_down(image::resize(x, 9, 9)) * 2 + 1; });
}

TEST(ProgramImages, WhatIsDoneElementByElementWhileDecodingChangesNoBit) {
  const auto to = [](DType dtype) {
    return [dtype](Symbolic x) { return cast(image::resize(x, 37, 53) + 0.5, dtype); };
  };
  for (const int channels : {1, 3, 4}) {
    SCOPED_TRACE(channels);
    expect_same_bits(to(DType::u8), channels);
    expect_same_bits(
        [](Symbolic x) {
          return transpose(image::resize(x, 37, 53) / 255, {2, 0, 1});
        },
        channels);
  }
  for (const DType dtype : {DType::i8, DType::f16, DType::bf16, DType::i64, DType::f64}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_same_bits(to(dtype));
    expect_same_bits([dtype](Symbolic x) {
      const Symbolic planes = transpose(image::resize(x, 37, 53) * 1.5, {2, 0, 1});
      return cast(clip(planes - 16, 0, 235), dtype);
    });
  }
  // Rows that are longer than a strip, and results of one row.
  expect_same_bits([](Symbolic x) { return cast(image::resize(x, 3, 5000) - 1, DType::u8); });
  expect_same_bits([](Symbolic x) { return cast(image::resize(x, 1, 1) + 0.5, DType::u8); });
  // What moves elements may stand between, and what computes with neighbours ends it.
  expect_same_bits([](Symbolic x) {
    const Symbolic unit = image::random_flip(image::random_resized_crop(x, 29, 33) / 255);
    return transpose(
        cast((unit - constant_like(x, kMean)) / constant_like(x, kDeviation), DType::f16),
        {2, 0, 1});
  });
  expect_same_bits([](Symbolic x) {
    return cast(image::normalize(image::resize(x, 40, 30), kMean, kDeviation) * 100, DType::i8);
  });
  expect_same_bits([](Symbolic x) {
    return image::normalize(image::resize(x, 40, 30) * 0.5, kMean, kDeviation) > 0.25;
  });
  expect_same_bits([](Symbolic x) {
    return image::flip_up_down(cast(image::resize(x, 9, 9) + 0.5, DType::u8));
  });
  expect_same_bits([](Symbolic x) {
    const Symbolic small = image::resize(cast(x, DType::f32), 24, 31);
    return cast(small + 0.5, DType::u8);
  });
  for (const image::Filter filter : {image::Filter::nearest, image::Filter::bicubic}) {
    expect_same_bits([filter](Symbolic x) {
      return cast(image::resize(x, 24, 31, {.filter = filter}) + 0.5, DType::u8);
    });
  }
}

TEST(ProgramImages, BytesNeedNoPictureOfFloats) {
  const TemporaryFolder folder;
  write_pictures(folder, 3);
  const auto files = Dataset::image_paths(folder.path().string());
  const auto needs = [&](const std::function<Symbolic(Symbolic)>& last) {
    return decode_needs(files.map([&](Symbolic path, Symbolic) {
             return last(image::resize(image::decode(read_file(path)), 500, 400));
           }))
        .largest;
  };
  const Bytes floats = needs([](Symbolic x) { return x; });  // which go into the batch
  EXPECT_LT(needs([](Symbolic x) { return cast(x + 0.5, DType::u8); }), floats + KiB(64));
}

TEST(ProgramImages, EqualsLoadImages) {
  const TemporaryFolder folder;
  write_pictures(folder, 12);
  const auto files = Dataset::image_paths(folder.path().string());
  const auto by_function = files.map(load_images({.height = 32,
                                                  .width = 24,
                                                  .layout = Layout::channels_first,
                                                  .flip = true,
                                                  .mean = {0.485F, 0.456F, 0.406F, 0},
                                                  .deviation = {0.229F, 0.224F, 0.225F, 1}}));
  const auto by_program = files.map([](Symbolic path, Symbolic label) {
    const Symbolic picture = image::resize(image::decode(read_file(path)), 32, 24);
    return Symbolics{
        {"image", transpose(image::flip_left_right(image::normalize(picture, kMean, kDeviation)),
                            {2, 0, 1})},
        {"label", label}};
  });
  EXPECT_EQ(by_program.element_spec(), by_function.element_spec());
  EXPECT_EQ(run(by_program.batch(4)), run(by_function.batch(4)));
}

TEST(ProgramImages, NeedsWhatLoadImagesNeeds) {
  const TemporaryFolder folder;
  write_pictures(folder, 12);
  const auto large = image::testing::make_jpeg({.width = 300, .height = 200});
  folder.write("a/large.jpg", large.data(), large.size());
  const auto needs = [&](const Dataset& dataset) { return decode_needs(dataset); };
  const auto files = Dataset::image_paths(folder.path().string());
  const DecodeNeeds by_function = needs(files.map(load_images({.height = 32, .width = 24})));
  const auto resized = [](Symbolic path, Symbolic label) {
    return Symbolics{image::resize(image::decode(read_file(path)), 32, 24), label};
  };
  const DecodeNeeds by_program = needs(files.map(resized));
  EXPECT_EQ(by_program.largest, by_function.largest);
  EXPECT_EQ(by_program.largest_file, by_function.largest_file);
  EXPECT_TRUE(by_program.complete);
  // What lies between the steps counts: the picture itself.
  const DecodeNeeds whole = needs(files.map([](Symbolic path, Symbolic) {
    return mean(cast(image::decode(read_file(path)), DType::f32), {.axes = {0, 1}});
  }));
  EXPECT_GT(whole.largest, by_program.largest);
}

TEST(ProgramImages, BytesOfRecordsAreDecodedLikeFiles) {
  const Device device = host();
  const auto file = image::testing::make_jpeg({.width = 41, .height = 33, .seed = 5});
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const TemporaryFolder folder;
  folder.write("a.jpg", file.data(), file.size());
  const ElementSpec spec = elements_of({TensorSpec::scalar(DType::bytes)});
  const auto resized = [](Symbolic contents) {
    return image::resize(image::decode(contents), 20, 20);
  };
  const Program of_bytes = trace_program(spec, [&](Symbolic x) { return resized(x); });
  const Program of_file = trace_program(spec, [&](Symbolic x) { return resized(read_file(x)); });
  const Element a = of_bytes.run({text_value(bytes, device)}, device);
  const Element b = of_file.run({text_value((folder.path() / "a.jpg").string(), device)}, device);
  EXPECT_TRUE(bits_of(a[0]) == bits_of(b[0]));
}

TEST(ProgramImages, RandomOpsDrawForTheElementTheEpochAndTheirPlace) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({numbers_of(DType::u8, {8, 8, 1})}), [](Symbolic x) {
        return Symbolics{image::random_crop(x, 3, 3), image::random_crop(x, 3, 3),
                         image::random_flip(x, 0), image::random_flip(x, 1)};
      });
  std::vector<std::uint8_t> pixels(64);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  const auto drawn = [&](std::uint64_t id, std::uint64_t seed, std::uint64_t epoch) {
    Element element = {Value(row_of(pixels, {8, 8, 1}, device))};
    element.id = id;
    return program.run(element, device, seed, epoch);
  };
  const auto corner = [](const Element& result, std::size_t i) {
    return static_cast<int>(result[i].tensor().to_vector<std::uint8_t>().front());
  };
  EXPECT_EQ(text_of(drawn(1, 2, 3)), text_of(drawn(1, 2, 3)));
  std::set<int> by_id;
  std::set<int> by_epoch;
  int alike = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    by_id.insert(corner(drawn(i, 7, 0), 0));
    by_epoch.insert(corner(drawn(7, 7, i), 0));
    alike += corner(drawn(i, 7, 0), 0) == corner(drawn(i, 7, 0), 1) ? 1 : 0;
  }
  EXPECT_EQ(by_id.size(), 36U);  // every place there is
  EXPECT_GT(by_epoch.size(), 30U);
  EXPECT_LT(alike, 30);
  const Element result = drawn(1, 2, 3);
  EXPECT_EQ(corner(result, 2), 0);
  EXPECT_EQ(corner(result, 3), 7);
}

TEST(ProgramImages, SayWhatIsWrongWithAPicture) {
  const Device device = host();
  const ElementSpec spec = elements_of({TensorSpec::scalar(DType::bytes)});
  const auto failure = [&](const std::string& path, const Picture& picture) {
    const Program program =
        trace_program(spec, [&](Symbolic x) { return picture(image::decode(read_file(x))); });
    return message_of<DataError>([&] { program.run({text_value(path, device)}, device); });
  };
  const TemporaryFolder folder;
  const auto file = image::testing::make_jpeg({.width = 41, .height = 33, .seed = 5});
  folder.write("small.jpg", file.data(), file.size());
  folder.write("text.jpg", "no picture");
  const std::string small = (folder.path() / "small.jpg").string();
  EXPECT_THAT(failure(small, [](Symbolic x) { return image::center_crop(x, 100, 10); }),
              HasSubstr("the image has 33 x 41 pixels, and 100 x 10 are to be cut out"));
  EXPECT_THAT(
      failure(small,
              [](Symbolic x) { return image::resize(image::random_crop(x, 10, 100), 8, 8); }),
      HasSubstr("in %3 = random_crop(%2, height=10, width=100)"));
  EXPECT_THAT(failure((folder.path() / "text.jpg").string(),
                      [](Symbolic x) { return image::resize(x, 8, 8); }),
              HasSubstr("decode_image"));
  EXPECT_THAT(
      failure((folder.path() / "none.jpg").string(),
              [](Symbolic x) { return image::resize(x, 8, 8); }),
      HasSubstr("none.jpg: cannot be opened: No such file or directory, in %1 = read_file(%0)"));
}

}  // namespace
}  // namespace plimsoll::data::testing
