#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

TEST(ImageDecode, HasTensorFlowsBits) {
  const Recorded recorded;
  const auto cases = recorded.cases("decode");
  ASSERT_GT(cases.size(), 100U);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.dump());
    const DecodeOptions options{.channels = entry.at("channels").get<int>(),
                                .dct = entry.at("dct") == "fast" ? Dct::fast : Dct::accurate};
    const File file = recorded.file(entry);
    EXPECT_EQ(decoded_extent(probe(file), options), Recorded::extent(entry.at("expected")));
    EXPECT_EQ(largest_difference(decoded(file, options),
                                 recorded.values<std::uint8_t>(entry.at("expected"))),
              0);
  }
}

TEST(ImageDecode, ThreeChannelsHaveTheBitsOfFour) {
  // Four channels are libjpeg's own conversion, three mostly ours.
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const std::vector<std::array<int, 2>> luma{{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {3, 1}};
  for (int round = 0; round < 300; ++round) {
    JpegKind kind{.width = pick(1, 90),
                  .height = pick(1, 70),
                  .quality = pick(20, 98),
                  .sampling = {luma[random() % luma.size()], {1, 1}, {1, 1}},
                  .progressive = random() % 4 == 0,
                  .restart = pick(0, 3),
                  .optimized = random() % 2 == 0,
                  .seed = static_cast<unsigned>(round)};
    SCOPED_TRACE(std::to_string(kind.width) + "x" + std::to_string(kind.height) + ", round " +
                 std::to_string(round));
    const File file = make_jpeg(kind);
    const Dct dct = random() % 2 == 0 ? Dct::fast : Dct::accurate;
    const auto three = decoded(file, {.channels = 3, .dct = dct});
    const auto four = decoded(file, {.channels = 4, .dct = dct});
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < four.size(); ++i) {
      if (i % 4 != 3) expected.push_back(four[i]);
    }
    EXPECT_TRUE(three == expected);
  }
}

TEST(ImageDecode, TurnsPicturesUpright) {
  // All eight files store the same pixels.
  const File upright = read_bytes(recorded_folder() / "images" / "exif_1.jpg");
  const std::vector<std::uint8_t> stored = decoded(upright);
  const ImageInfo info = probe(upright);
  const int w = info.width;
  const int h = info.height;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    const File file =
        read_bytes(recorded_folder() / "images" / ("exif_" + std::to_string(orientation) + ".jpg"));
    EXPECT_EQ(probe(file).orientation, orientation);
    EXPECT_EQ(decoded(file), stored);
    const DecodeOptions options{.apply_orientation = true};
    const Extent e = decoded_extent(probe(file), options);
    const auto turned = decoded(file, options);
    for (int y = 0; y < e.height; ++y) {
      for (int x = 0; x < e.width; ++x) {
        // The EXIF standard's table, from the upright picture back to the stored one.
        const std::array<std::array<int, 2>, 8> source{{{x, y},
                                                        {w - 1 - x, y},
                                                        {w - 1 - x, h - 1 - y},
                                                        {x, h - 1 - y},
                                                        {y, x},
                                                        {y, h - 1 - x},
                                                        {w - 1 - y, h - 1 - x},
                                                        {w - 1 - y, x}}};
        const auto [sx, sy] = source[static_cast<std::size_t>(orientation - 1)];
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(turned[static_cast<std::size_t>((y * e.width + x) * 3 + c)],
                    stored[static_cast<std::size_t>((sy * w + sx) * 3 + c)]);
        }
      }
    }
  }
}

TEST(ImageDecode, TakesNoMoreThanProbeSays) {
  const auto check = [](const File& file) {
    const ImageInfo info = probe(file);
    for (const int channels : {0, 1, 3, 4}) {
      for (const bool turn : {false, true}) {
        const DecodeOptions options{.channels = channels, .apply_orientation = turn};
        const Extent e = decoded_extent(info, options);
        std::vector<std::uint8_t> out(static_cast<std::size_t>(e.height * e.width * e.channels));
        CountingScratch scratch;
        try {
          decode(file, info, options, scratch, packed(out.data(), e.height, e.width, e.channels));
        } catch (const DataError& error) {
          // CMYK has no way to gray; running out of a bound would say so here.
          EXPECT_EQ(std::string(error.what()).find("memory"), std::string::npos) << error.what();
        }
        EXPECT_LE(scratch.peak(), info.scratch);
        EXPECT_EQ(scratch.live(), 0U);
      }
    }
  };
  for (const auto& path : recorded_pictures()) {
    SCOPED_TRACE(path);
    check(read_bytes(path));
  }
  for (const bool progressive : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      for (const int h : {1, 2, 3, 4}) {
        for (const int v : {1, 2, 4}) {
          SCOPED_TRACE(std::to_string(h) + "x" + std::to_string(v));
          if (h * v > 8) continue;
          check(make_jpeg({.width = 333,
                           .height = 97,
                           .sampling = {{h, v}, {1, 1}, {1, 1}},
                           .progressive = progressive,
                           .arithmetic = arithmetic}));
        }
      }
    }
  }
  check(make_jpeg({.width = 3001, .height = 33}));
  check(make_jpeg({.width = 130,
                   .height = 70,
                   .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
                   .progressive = true}));
  check(make_jpeg({.width = 130, .height = 70, .separate_scans = true}));
}

TEST(ImageDecode, ABaselinePictureIsNeverHeldWhole) {
  const ImageInfo info = probe(make_jpeg({.width = 2000, .height = 1500}));
  EXPECT_LT(info.scratch, KiB(512));
  const ImageInfo passes = probe(make_jpeg({.width = 2000, .height = 1500, .progressive = true}));
  // Coefficients of luma and a quarter of that twice, two bytes each.
  EXPECT_GT(passes.scratch, Bytes{2000} * 1500 * 3);
  EXPECT_LT(passes.scratch, Bytes{2000} * 1500 * 3 + KiB(700));
}

TEST(ImageDecode, TruncationIsAnErrorAtEveryLength) {
  for (const char* name :
       {"420.jpg", "420_progressive.jpg", "gray.jpg", "rgb8.png", "palette4_interlaced.png"}) {
    SCOPED_TRACE(name);
    const File file = read_bytes(recorded_folder() / "images" / name);
    for (std::size_t length = 0; length < file.size(); ++length) {
      const File part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_THROW(decoded(part), DataError) << length;
    }
  }
}

TEST(ImageDecode, DamageThatCanBePaintedOverIsNoError) {
  // As in TensorFlow: libjpeg only warns.
  File file = read_bytes(recorded_folder() / "images" / "420.jpg");
  file[file.size() / 2] ^= std::byte{0x10};
  EXPECT_NO_THROW(decoded(file));
}

TEST(ImageDecode, RefusesRoomOfAnotherShape) {
  const File file = make_jpeg({});
  const ImageInfo info = probe(file);
  std::vector<std::uint8_t> out(64 * 48 * 4);
  CountingScratch scratch;
  EXPECT_THROW(decode(file, info, {}, scratch, packed(out.data(), 48, 64, 4)), InvalidArgument);
  EXPECT_THROW(decode(file, info, {}, scratch, packed(out.data(), 64, 48, 3)), InvalidArgument);
  EXPECT_THROW(decoded_extent(info, {.channels = 5}), InvalidArgument);
}

TEST(ImageDecode, LeavesScratchAsItWasWhenMemoryIsShort) {
  class NoScratch final : public Scratch {
   public:
    void* allocate(Bytes) override { throw Error("none left"); }
    void free(void*) noexcept override { std::abort(); }
  };
  const File file = make_jpeg({});
  std::vector<std::uint8_t> out(64 * 48 * 3);
  NoScratch scratch;
  EXPECT_THROW(decode(file, probe(file), {}, scratch, packed(out.data(), 48, 64, 3)), Error);
}

}  // namespace
}  // namespace plimsoll::image::testing
