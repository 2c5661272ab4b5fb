#include <plimsoll/data/needs.h>

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include <plimsoll/data/pipeline.h>

#include "data/image_files.h"
#include "data/pipeline_support.h"

namespace plimsoll::data {
namespace {

using namespace testing;
using namespace std::chrono_literals;

image::LoadOptions small() { return {.height = 32, .width = 32}; }

void write_progressive(const TemporaryFolder& folder, const std::string& name, int width,
                       int height) {
  const auto file =
      image::testing::make_jpeg({.width = width, .height = height, .progressive = true});
  folder.write(name, file.data(), file.size());
}

TEST(DecodeNeeds, TheLargestFileIsNamedBeforeAnythingIsRead) {
  const TemporaryFolder folder;
  write_pictures(folder, 12);
  write_progressive(folder, "a/large.jpg", 1200, 800);
  const Dataset files = Dataset::image_folder(folder.path().string());
  const Dataset dataset = files.shuffle({.elements = kWholeSet}).map(load_images(small())).batch(4);
  const DecodeNeeds needs = decode_needs(dataset);
  EXPECT_EQ(needs.files, 13);
  EXPECT_EQ(needs.looked_at, 13);
  EXPECT_EQ(needs.unreadable, 0);
  EXPECT_TRUE(needs.complete);
  EXPECT_EQ(needs.largest_file, (folder.path() / "a/large.jpg").string());
  // Coefficients of a progressive picture: 16 bits of 1.5 samples per pixel.
  EXPECT_GT(needs.largest, Bytes{1200 * 800 * 3});
}

TEST(DecodeNeeds, WhatTheySayIsEnoughAndLittleMore) {
  const TemporaryFolder folder;
  write_progressive(folder, "a/large.jpg", 1200, 800);
  write_pictures(folder, 2);
  const Dataset dataset = Dataset::image_folder(folder.path().string()).map(load_images(small()));
  const Bytes largest = decode_needs(dataset).largest;
  const auto runs = [&](Bytes limit) {
    const Device device = host();
    Pipeline pipeline(dataset, device, {.limit = limit});
    try {
      while (pipeline.next()) {
      }
      return true;
    } catch (const DataError&) {
      return false;
    }
  };
  EXPECT_TRUE(runs(largest + KiB(64)));
  EXPECT_FALSE(runs(largest - KiB(64)));
}

TEST(DecodeNeeds, ALaterCallGoesOnWhereTheFirstStopped) {
  const TemporaryFolder folder;
  write_pictures(folder, 20);
  const Dataset dataset = Dataset::image_folder(folder.path().string()).map(load_images(small()));
  DecodeNeeds needs = decode_needs(dataset, 5s, 7);
  EXPECT_EQ(needs.looked_at, 7);
  EXPECT_EQ(needs.files, 20);
  EXPECT_FALSE(needs.complete);
  needs = decode_needs(dataset.batch(2), 5s, 7);  // of the same description
  EXPECT_EQ(needs.looked_at, 14);
  needs = decode_needs(dataset, 0ms, 0);  // what is known, and no more
  EXPECT_EQ(needs.looked_at, 14);
  needs = decode_needs(dataset);
  EXPECT_TRUE(needs.complete);
  std::filesystem::remove_all(folder.path() / "a");  // remembered: not read again
  EXPECT_EQ(decode_needs(dataset).largest, needs.largest);
}

TEST(DecodeNeeds, FilesThatCannotBeReadAreCounted) {
  const TemporaryFolder folder;
  write_pictures(folder, 4);
  folder.write("a/broken.jpg", "no picture");
  folder.write("b/empty.png", "");
  const DecodeNeeds needs = decode_needs(
      Dataset::list_files((folder.path() / "*/*").string()).map(load_images(small(), false)));
  EXPECT_EQ(needs.unreadable, 2);
  EXPECT_TRUE(needs.complete);
  EXPECT_GT(needs.largest, Bytes{0});
}

TEST(DecodeNeeds, AHeaderBehindAMebibyteOfMetadataIsFound) {
  const TemporaryFolder folder;
  const auto file = image::testing::make_jpeg({.width = 640, .height = 480});
  std::string padded(reinterpret_cast<const char*>(file.data()), 2);
  for (int i = 0; i < 20; ++i) padded += std::string("\xFF\xE2\xFF\xFF") + std::string(65533, 'x');
  padded.append(reinterpret_cast<const char*>(file.data()) + 2, file.size() - 2);
  folder.write("a/padded.jpg", padded);
  const DecodeNeeds needs =
      decode_needs(Dataset::image_folder(folder.path().string()).map(load_images(small())));
  EXPECT_EQ(needs.unreadable, 0);
  EXPECT_GT(needs.largest, padded.size());
}

TEST(DecodeNeeds, ADatasetWithoutFilesNeedsNothing) {
  const DecodeNeeds needs = decode_needs(Dataset::range(10).map(plus(1)));
  EXPECT_EQ(needs.largest, Bytes{0});
  EXPECT_EQ(needs.files, 0);
  EXPECT_TRUE(needs.complete);
}

}  // namespace
}  // namespace plimsoll::data
