// What a saved position knows of the data, and what is left out or fails.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Dataset pictures_in(const fs::path& folder) {
  return Dataset::image_folder(folder.string())
      .shuffle()
      .map(load_images({.height = 8, .width = 8}), {.parallel = 2})
      .batch(2);
}

/// A position after one batch of the images in `folder`.
std::string position_in(const fs::path& folder) {
  const Device device = host();
  Pipeline pipeline(pictures_in(folder), device);
  pipeline.next();
  return pipeline.save();
}

/// What restoring says: the error, or what goes to stderr.
std::string restored(const fs::path& folder, const std::string& position) {
  const Device device = host();
  Pipeline pipeline(pictures_in(folder), device);
  ::testing::internal::CaptureStderr();
  try {
    pipeline.restore(position);
  } catch (const InvalidArgument& error) {
    ::testing::internal::GetCapturedStderr();
    return error.what();
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(ChangedData, TheSameFilesElsewhereAreTheSameData) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  const std::string position = position_in(folder.path());
  EXPECT_THAT(restored(folder.path(), position), IsEmpty());
  const fs::path moved = folder.path().string() + "_moved";
  fs::rename(folder.path(), moved);
  EXPECT_THAT(restored(moved, position), IsEmpty());
  fs::rename(moved, folder.path());
}

TEST(ChangedData, AFileOfAnotherSizeIsRefusedByName) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  const std::string position = position_in(folder.path());
  std::ofstream(folder.path() / "a/1004.jpg", std::ios::app) << "more";
  EXPECT_THAT(restored(folder.path(), position),
              AllOf(HasSubstr("a/1004.jpg"), HasSubstr("changed"), Not(HasSubstr("1002"))));
}

TEST(ChangedData, AFileOfAnotherNameOrClassIsRefused) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  const std::string position = position_in(folder.path());
  fs::rename(folder.path() / "a/1006.jpg", folder.path() / "b/1000.jpg");
  EXPECT_THAT(restored(folder.path(), position),
              AllOf(HasSubstr("changed"), HasSubstr("b/1000.jpg")));
}

TEST(ChangedData, FilesThatCameOrWentAreRefused) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  const std::string position = position_in(folder.path());
  fs::copy(folder.path() / "a/1000.jpg", folder.path() / "a/9.jpg");
  EXPECT_THAT(restored(folder.path(), position),
              AllOf(HasSubstr("has 9 files, and 8 when"), HasSubstr("a/9.jpg")));
  fs::remove(folder.path() / "a/9.jpg");
  fs::remove(folder.path() / "b/1001.jpg");
  EXPECT_THAT(restored(folder.path(), position), HasSubstr("has 7 files, and 8 when"));
}

TEST(ChangedData, AFileThatWasOnlyWrittenToIsWarnedOf) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  const std::string position = position_in(folder.path());
  const fs::path file = folder.path() / "b/1003.jpg";
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(60));
  EXPECT_THAT(restored(folder.path(), position),
              AllOf(HasSubstr("b/1003.jpg"), HasSubstr("same names and sizes")));
}

TEST(ChangedData, OfManyFilesTheOneThatChangedIsNamed) {
  const TemporaryFolder folder;
  for (int i = 0; i < 3000; ++i) folder.write("a/" + std::to_string(10'000 + i) + ".txt", "x");
  const Dataset files = Dataset::list_files((folder.path() / "a/*.txt").string());
  const Device device = host();
  Pipeline first(files, device);
  const std::string position = first.save();
  // As if it had been saved an hour later than the files were written.
  folder.write("a/11234.txt", "longer");
  Pipeline second(files, device);
  try {
    second.restore(position);
    FAIL() << "restored";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("a/11234.txt"));
  }
}

TEST(Skipped, FilesAndReasonsAreNamedAtTheEndOfAnEpoch) {
  const TemporaryFolder folder;
  write_pictures(folder, 20);
  for (int i = 0; i < 12; ++i)
    folder.write("a/bad" + std::to_string(10 + i) + ".jpg", "no picture");
  const Device device = host();
  ::testing::internal::CaptureStderr();
  Pipeline pipeline(pictures_in(folder.path()), device, {.name = "train", .skip_errors = -1});
  EXPECT_THAT(rest_of(pipeline), SizeIs(10));
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("[train] 12 elements were left out in epoch 1:"));
  EXPECT_THAT(text, HasSubstr(".jpg: [image] neither a JPEG nor a PNG file"));
  EXPECT_THAT(text, HasSubstr("and 2 more"));
  ::testing::internal::CaptureStderr();
  pipeline.rewind();
  rest_of(pipeline);
  text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("12 elements were left out in epoch 2:"));
  EXPECT_EQ(pipeline.skipped_count(), 24);
  EXPECT_EQ(pipeline.skipped().back().epoch, 1U);
}

TEST(Skipped, APositionCanBeRestoredWithAnotherPolicy) {
  const TemporaryFolder folder;
  write_pictures(folder, 9);
  folder.write("a/bad.jpg", "no picture");
  const Device device = host();
  Pipeline strict(pictures_in(folder.path()), device, {.seed = 3, .save_before_errors = true});
  std::vector<std::string> stream;
  std::string position;
  try {
    while (const auto element = strict.next()) stream.push_back(text_of(*element));
  } catch (const DataError&) {
    position = strict.save();
  }
  ASSERT_FALSE(position.empty());
  // What is resumed without mending fails again, and nothing of the epoch is lost.
  Pipeline again(pictures_in(folder.path()), device, {.seed = 3});
  again.restore(position);
  EXPECT_THROW(again.next(), DataError);
  Pipeline lenient(pictures_in(folder.path()), device, {.seed = 3, .skip_errors = -1});
  lenient.restore(position);
  for (const std::string& each : rest_of(lenient)) stream.push_back(each);
  Pipeline whole(pictures_in(folder.path()), device, {.seed = 3, .skip_errors = -1});
  EXPECT_EQ(stream, rest_of(whole));
}

TEST(TooLarge, AnElementThatHasNoRoomIsNamedWithItsBytesAndSkipped) {
  const TemporaryFolder folder;
  write_pictures(folder, 6);
  const auto large =
      image::testing::make_jpeg({.width = 1400, .height = 1000, .progressive = true});
  folder.write("b/large.jpg", large.data(), large.size());
  const Device device = host();
  for (const int parallel : {1, 2}) {
    const Dataset dataset = Dataset::image_folder(folder.path().string())
                                .map(load_images({.height = 8, .width = 8}), {.parallel = parallel})
                                .batch(2);
    Pipeline strict(dataset, device, {.limit = MiB(2), .threads = 2});
    std::string message;
    for (const std::string& each : rest_of(strict)) {
      if (each.starts_with("error: ")) message = each;
    }
    EXPECT_THAT(message, HasSubstr("error: " + (folder.path() / "b/large.jpg").string()));
    EXPECT_THAT(message, HasSubstr("it takes 4.6 MiB ("));
    EXPECT_THAT(message, HasSubstr("raise the budget"));
    Pipeline lenient(dataset, device, {.limit = MiB(2), .threads = 2, .skip_errors = -1});
    EXPECT_THAT(rest_of(lenient), SizeIs(3));
    EXPECT_EQ(lenient.skipped_count(), 1);
    // What is lent is used at once.
    Pipeline lent(dataset, device, {.limit = MiB(2), .threads = 2});
    lent.next();
    lent.budget().set_limit(MiB(32));
    EXPECT_THAT(rest_of(lent), SizeIs(3));
  }
}

TEST(Relief, ALoweredLimitTakesWhatWasMadeAhead) {
  MapFunction rows;
  rows.run = [](const Element& element, MapContext& context) {
    Tensor row = context.empty({1 << 18}, DType::f32);
    row.mutable_data<float>()[0] = static_cast<float>(number(element));
    return Element{row, number(element)};
  };
  const Device device = host();
  Pipeline pipeline(Dataset::range(40).map(rows).prefetch(16), device, {.limit = MiB(32)});
  std::vector<std::int64_t> seen;
  seen.push_back(pipeline.next()->at(1).as<std::int64_t>());
  while (pipeline.budget().used() < MiB(8)) std::this_thread::yield();
  pipeline.budget().set_limit(MiB(3));
  EXPECT_LE(pipeline.budget().used(), MiB(3));
  while (const auto element = pipeline.next()) seen.push_back(element->at(1).as<std::int64_t>());
  EXPECT_THAT(seen, SizeIs(40));
  EXPECT_EQ(seen.back(), 39);
}

TEST(Moved, APipelineSaysThatItWasMovedFrom) {
  const Device device = host();
  Pipeline first(Dataset::range(3), device);
  Pipeline second = std::move(first);
  EXPECT_THROW(first.next(), InvalidArgument);    // NOLINT: what is tested
  EXPECT_THROW(first.rewind(), InvalidArgument);  // NOLINT
  EXPECT_THROW(first.save(), InvalidArgument);    // NOLINT
  EXPECT_THROW(first.stats(), InvalidArgument);   // NOLINT
  EXPECT_THROW(first.budget(), InvalidArgument);  // NOLINT
  EXPECT_THROW(first.cancel(), InvalidArgument);  // NOLINT
  first = std::move(second);
  EXPECT_THAT(rest_of(first), SizeIs(3));
}

TEST(Moved, ADatasetStaysWhatItWas) {
  Dataset first = Dataset::range(3);
  const Dataset second = std::move(first);
  EXPECT_EQ(numbers(first.batch(1).unbatch()), numbers(second));  // NOLINT: what is tested
}

TEST(Names, ControlCharactersInAFileNameAreShown) {
  const TemporaryFolder folder;
  folder.write("a/new\nline\x1b[31m.jpg", "no picture");
  write_pictures(folder, 2);
  const auto stream = run(
      Dataset::image_folder(folder.path().string()).map(load_images({.height = 8, .width = 8})));
  EXPECT_THAT(stream, ::testing::Contains(HasSubstr("a/new\\nline\\x1b[31m.jpg: ")));
}

}  // namespace
}  // namespace plimsoll::data::testing
