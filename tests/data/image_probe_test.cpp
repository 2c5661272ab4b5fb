#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

File recorded_file(const char* name) { return read_bytes(recorded_folder() / "images" / name); }

std::string message_of(const File& file, const ProbeOptions& options = {}) {
  try {
    probe(file, options);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImageProbe, ReadsJpegHeaders) {
  const ImageInfo info = probe(recorded_file("420.jpg"));
  EXPECT_EQ(info.format, Format::jpeg);
  EXPECT_EQ(info.width, 52);
  EXPECT_EQ(info.height, 39);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.bits, 8);
  EXPECT_EQ(info.components, 3);
  EXPECT_EQ(info.sampling[0].horizontal, 2);
  EXPECT_EQ(info.sampling[1].vertical, 1);
  EXPECT_FALSE(info.progressive);
  EXPECT_FALSE(info.several_passes);
  EXPECT_EQ(info.orientation, 1);

  EXPECT_TRUE(probe(recorded_file("420_progressive.jpg")).progressive);
  EXPECT_EQ(probe(recorded_file("gray.jpg")).channels, 1);
  EXPECT_EQ(probe(recorded_file("cmyk.jpg")).channels, 3);
  EXPECT_EQ(probe(recorded_file("cmyk.jpg")).components, 4);

  const ImageInfo scans = probe(make_jpeg({.separate_scans = true}));
  EXPECT_FALSE(scans.progressive);
  EXPECT_TRUE(scans.several_passes);
}

TEST(ImageProbe, ReadsPngHeaders) {
  const ImageInfo info = probe(recorded_file("rgba16_interlaced.png"));
  EXPECT_EQ(info.format, Format::png);
  EXPECT_EQ(info.width, 19);
  EXPECT_EQ(info.height, 13);
  EXPECT_EQ(info.channels, 4);
  EXPECT_EQ(info.bits, 16);
  EXPECT_TRUE(info.progressive);
  EXPECT_EQ(probe(recorded_file("palette2.png")).channels, 3);
  EXPECT_EQ(probe(recorded_file("palette8_transparent.png")).channels, 4);
  EXPECT_EQ(probe(recorded_file("gray_alpha8.png")).channels, 2);
}

TEST(ImageProbe, RefusesWhatIsNoPicture) {
  EXPECT_EQ(message_of({}), "[image] neither a JPEG nor a PNG file: it is empty");
  EXPECT_NE(message_of(File(100, std::byte{'x'})).find("neither"), std::string::npos);
  const File jpeg = recorded_file("420.jpg");
  EXPECT_NE(message_of(File(jpeg.begin(), jpeg.begin() + 60)).find("cut off"), std::string::npos);
}

TEST(ImageProbe, BombsAreRefusedFromTheHeader) {
  File file = make_jpeg({});
  // The frame header: marker, length, precision, height, width.
  const std::array<std::byte, 2> marker{std::byte{0xff}, std::byte{0xc0}};
  auto at = std::search(file.begin(), file.end(), marker.begin(), marker.end());
  ASSERT_NE(at, file.end());
  std::fill_n(at + 5, 4, std::byte{0xff});
  EXPECT_EQ(message_of(file),
            "[image] 65535 x 65535 pixels exceed the limit of 134217728; make it smaller, or raise "
            "max_pixels in a program that trusts it");
  EXPECT_EQ(probe(file, {.max_pixels = std::int64_t{1} << 33}).width, 65535);
  EXPECT_EQ(
      message_of(make_jpeg({.width = 100, .height = 10}), {.max_pixels = 999}),
      "[image] 100 x 10 pixels exceed the limit of 999; make it smaller, or raise max_pixels in "
      "a program that trusts it");
}

TEST(ImageProbe, MalformedExifIsNoError) {
  File file = recorded_file("exif_6.jpg");
  const std::array<std::byte, 4> magic{std::byte{'E'}, std::byte{'x'}, std::byte{'i'},
                                       std::byte{'f'}};
  const auto at = std::search(file.begin(), file.end(), magic.begin(), magic.end());
  ASSERT_NE(at, file.end());
  EXPECT_EQ(probe(file).orientation, 6);
  for (int i = 6; i < 20; ++i) {
    File broken = file;
    broken[static_cast<std::size_t>(at - file.begin() + i)] ^= std::byte{0xff};
    const int orientation = probe(broken).orientation;
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  }
}

}  // namespace
}  // namespace plimsoll::image::testing
