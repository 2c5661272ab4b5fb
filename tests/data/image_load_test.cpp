#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

// Weights have 14 bits; the rest is exact.
constexpr double kTolerance = 0.01 / 255;

TEST(ImageLoad, EqualsTensorFlowsDecodeAndResize) {
  const Recorded recorded;
  const auto cases = recorded.cases("load");
  ASSERT_GT(cases.size(), 40U);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.dump());
    const Extent e = Recorded::extent(entry.at("expected"));
    LoadOptions options{.height = e.height,
                        .width = e.width,
                        .channels = e.channels,
                        .flip = entry.at("flip").get<bool>()};
    if (!entry.at("crop").empty()) {
      const auto crop = entry.at("crop").get<std::array<int, 4>>();
      options.crop = {crop[0], crop[1], crop[2], crop[3]};
    }
    EXPECT_LT(largest_difference(loaded(recorded.file(entry), options),
                                 recorded.values<float>(entry.at("expected"))),
              kTolerance);
  }
}

/// What load() promises, by the long way: decode(), crop, resize().
std::vector<float> reference(const File& file, const LoadOptions& options) {
  const ImageInfo info = probe(file);
  const DecodeOptions decode_options{.channels = options.channels,
                                     .dct = options.dct,
                                     .apply_orientation = options.apply_orientation};
  const Extent e = decoded_extent(info, decode_options);
  std::vector<std::uint8_t> pixels = decoded(file, decode_options);
  const auto picture = packed(pixels.data(), e.height, e.width, e.channels);
  const Window crop = options.crop.whole() ? Window{0, 0, e.width, e.height} : options.crop;
  const int w = options.width;
  const int h = options.height;
  const int n = options.channels;
  std::vector<float> resized(static_cast<std::size_t>(h * w * n));
  CountingScratch scratch;
  resize(packed(resized.data(), h, w, n),
         View<const std::uint8_t>{picture.pixel(crop.y, crop.x), crop.height, crop.width, n,
                                  picture.stride},
         options.resize, scratch);
  std::vector<float> out(resized.size());
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      for (int c = 0; c < n; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        const int from = options.flip ? w - 1 - x : x;
        const float value = resized[static_cast<std::size_t>(n) * (y * w + from) + channel] / 255;
        const int at =
            options.layout == Layout::channels_last ? (y * w + x) * n + c : (c * h + y) * w + x;
        out[static_cast<std::size_t>(at)] =
            (value - options.mean[channel]) / options.deviation[channel];
      }
    }
  }
  return out;
}

TEST(ImageLoad, EveryPathAndOptionEqualsTheLongWay) {
  std::mt19937 random(11);
  const std::vector<std::vector<std::array<int, 2>>> samplings{{{1, 1}, {1, 1}, {1, 1}},
                                                               {{2, 1}, {1, 1}, {1, 1}},
                                                               {{2, 2}, {1, 1}, {1, 1}},
                                                               {{1, 2}, {1, 1}, {1, 1}},
                                                               {{4, 1}, {1, 1}, {1, 1}},
                                                               {{4, 1}, {2, 1}, {2, 1}},
                                                               {{2, 2}, {2, 1}, {1, 2}},
                                                               {{2, 2}, {1, 2}, {1, 2}},
                                                               {{1, 1}, {2, 2}, {2, 2}},
                                                               {{3, 1}, {1, 1}, {1, 1}},
                                                               {{2, 2}},
                                                               {{1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int planes = 0;
  for (int round = 0; round < 400; ++round) {
    JpegKind kind;
    kind.width = pick(1, 90);
    kind.height = pick(1, 70);
    kind.quality = pick(20, 98);
    kind.sampling = samplings[random() % samplings.size()];
    kind.progressive = random() % 4 == 0;
    kind.seed = static_cast<unsigned>(round);
    const File file = make_jpeg(kind);
    LoadOptions options;
    options.width = pick(1, 60);
    options.height = pick(1, 60);
    options.channels = kind.sampling.size() == 4 || random() % 5 != 0 ? 3 : (random() % 2 ? 1 : 4);
    options.layout = random() % 2 == 0 ? Layout::channels_last : Layout::channels_first;
    options.dct = random() % 2 == 0 ? Dct::fast : Dct::accurate;
    options.flip = random() % 2 == 0;
    options.mean = {0.4F, 0.5F, 0.3F, 0.1F};
    options.deviation = {0.5F, 2.0F, 1.0F, 1.5F};
    if (random() % 2 == 0) {
      options.crop.width = pick(1, kind.width);
      options.crop.height = pick(1, kind.height);
      options.crop.x = pick(0, kind.width - options.crop.width);
      options.crop.y = pick(0, kind.height - options.crop.height);
    }
    if (random() % 4 == 0) options.resize = {static_cast<Filter>(random() % 4), random() % 2 == 0};
    SCOPED_TRACE("round " + std::to_string(round) + ": " + std::to_string(kind.width) + "x" +
                 std::to_string(kind.height) + " to " + std::to_string(options.width) + "x" +
                 std::to_string(options.height));
    const ImageInfo info = probe(file);
    const LoadPlan plan = plan_load(info, options);
    planes += plan.path == LoadPlan::Path::planes ? 1 : 0;
    std::vector<float> out(
        static_cast<std::size_t>(options.width * options.height * options.channels));
    CountingScratch scratch;
    load(file, info, options, scratch, out.data());
    EXPECT_LT(largest_difference(out, reference(file, options)), 2.1 * kTolerance);
    EXPECT_LE(scratch.peak(), plan.scratch);
    EXPECT_EQ(scratch.live(), 0U);
  }
  EXPECT_GT(planes, 80);
}

TEST(ImageLoad, ExactLoadsHaveTheBitsOfResizedFloats) {
  std::mt19937 random(12);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    JpegKind kind{
        .width = pick(1, 90), .height = pick(1, 70), .seed = static_cast<unsigned>(round)};
    kind.progressive = random() % 4 == 0;
    const File file = make_jpeg(kind);
    LoadOptions options{.height = pick(1, 80), .width = pick(1, 80), .exact = true};
    options.normalise = false;
    options.channels = random() % 3 == 0 ? (random() % 2 ? 1 : 4) : 3;
    options.crop.width = pick(1, kind.width);
    options.crop.height = pick(1, kind.height);
    options.crop.x = pick(0, kind.width - options.crop.width);
    options.crop.y = pick(0, kind.height - options.crop.height);
    const std::vector<std::uint8_t> pixels = decoded(file, {.channels = options.channels});
    const std::vector<float> floats(pixels.begin(), pixels.end());
    const auto picture = packed(floats.data(), kind.height, kind.width, options.channels);
    std::vector<float> expected(
        static_cast<std::size_t>(options.width * options.height * options.channels));
    CountingScratch scratch;
    resize(packed(expected.data(), options.height, options.width, options.channels),
           View<const float>{picture.pixel(options.crop.y, options.crop.x), options.crop.height,
                             options.crop.width, options.channels, picture.stride},
           options.resize, scratch);
    EXPECT_TRUE(loaded(file, options) == expected);
  }
}

TEST(ImageLoad, TurnsCropsAndFlipsTogether) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const Layout layout : {Layout::channels_last, Layout::channels_first}) {
      for (const bool flip : {false, true}) {
        for (const Filter filter : {Filter::bilinear, Filter::area}) {
          SCOPED_TRACE(orientation);
          const File file = read_bytes(recorded_folder() / "images" /
                                       ("exif_" + std::to_string(orientation) + ".jpg"));
          const LoadOptions options{.height = 7,
                                    .width = 10,
                                    .layout = layout,
                                    .resize = {filter},
                                    .crop = {2, 3, 11, 9},
                                    .flip = flip,
                                    .apply_orientation = true};
          EXPECT_LT(largest_difference(loaded(file, options), reference(file, options)),
                    kTolerance);
        }
      }
    }
  }
}

TEST(ImageLoad, ScaledDecodingStaysNearTheWholePicture) {
  for (const int chroma : {1, 2}) {
    JpegKind kind{
        .width = 803, .height = 611, .quality = 92, .sampling = {{chroma, chroma}, {1, 1}, {1, 1}}};
    const File file = make_jpeg(kind);
    for (const int target : {60, 90, 180, 300, 400}) {
      SCOPED_TRACE(target);
      LoadOptions options{.height = target, .width = target, .allow_scaled = true};
      const LoadPlan plan = plan_load(probe(file), options);
      EXPECT_EQ(plan.eighths, target <= 76 ? 1 : target <= 152 ? 2 : target <= 305 ? 4 : 8);
      const auto scaled = loaded(file, options);
      // Averages agree with those of an antialiased resize of the whole picture.
      options.allow_scaled = false;
      options.resize.antialias = true;
      const auto smooth = loaded(file, options);
      double mean = 0;
      for (std::size_t i = 0; i < scaled.size(); ++i) mean += std::abs(scaled[i] - smooth[i]);
      EXPECT_LT(mean / static_cast<double>(scaled.size()), 0.05);
    }
  }
}

TEST(ImageLoad, ScaledPathsAgreeWithEachOther) {
  // Four channels take libjpeg's own conversion, three take ours.
  for (const auto& sampling :
       std::vector<std::vector<std::array<int, 2>>>{{{1, 1}, {1, 1}, {1, 1}},
                                                    {{2, 1}, {1, 1}, {1, 1}},
                                                    {{2, 2}, {1, 1}, {1, 1}},
                                                    {{1, 2}, {1, 1}, {1, 1}},
                                                    {{4, 1}, {1, 1}, {1, 1}},
                                                    {{4, 2}, {1, 1}, {1, 1}}}) {
    const File file = make_jpeg({.width = 517, .height = 403, .sampling = sampling});
    for (const int target : {20, 60, 120, 250}) {
      LoadOptions options{.height = target, .width = target, .allow_scaled = true};
      const auto three = loaded(file, options);
      options.channels = 4;
      const auto four = loaded(file, options);
      double largest = 0;
      for (std::size_t i = 0; i < three.size(); ++i) {
        largest = std::max<double>(largest, std::abs(three[i] - four[i / 3 * 4 + i % 3]));
      }
      EXPECT_EQ(largest, 0) << target;
    }
  }
}

TEST(ImageLoad, ScratchGrowsWithTheWidthAlone) {
  const LoadOptions options;
  const Bytes low = plan_load(probe(make_jpeg({.width = 1200, .height = 300})), options).scratch;
  const Bytes high = plan_load(probe(make_jpeg({.width = 1200, .height = 2400})), options).scratch;
  EXPECT_EQ(low, high);
  EXPECT_LT(high, KiB(320));
}

TEST(ImageLoad, RefusesOptionsThatMakeNoSense) {
  const ImageInfo info = probe(make_jpeg({.width = 40, .height = 30}));
  EXPECT_THROW(plan_load(info, {.height = 0}), InvalidArgument);
  EXPECT_THROW(plan_load(info, {.channels = 2}), InvalidArgument);
  EXPECT_THROW(plan_load(info, {.crop = {30, 0, 11, 10}}), InvalidArgument);
  EXPECT_THROW(plan_load(info, {.crop = {0, 0, 10, 31}}), InvalidArgument);
  EXPECT_THROW(plan_load(info, {.crop = {-1, 0, 10, 10}}), InvalidArgument);
  EXPECT_THROW(plan_load(info, {.deviation = {1, 0, 1, 1}}), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::image::testing
