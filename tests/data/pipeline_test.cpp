#include <atomic>
#include <latch>
#include <thread>

#include <gmock/gmock.h>

#include <plimsoll/memory/out_of_memory.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

MapFunction takes(Bytes bytes) {
  MapFunction function;
  function.name = "takes";
  function.run = [bytes](const Element& element, MapContext& context) {
    const Tensor memory = context.empty({static_cast<std::int64_t>(bytes)}, DType::u8);
    return Element{element.at(0)};
  };
  return function;
}

Dataset pictures(const TemporaryFolder& folder, std::int64_t batch) {
  image::LoadOptions options;
  options.height = options.width = 32;
  return Dataset::image_folder(folder.path())
      .shuffle({})
      .map(load_images(options), {.parallel = kAutotune})
      .batch(batch);
}

TEST(Pipeline, LoadsPicturesStraightIntoTheBatch) {
  const TemporaryFolder folder;
  write_pictures(folder, 10);
  const Device device = host();
  Pipeline pipeline(pictures(folder, 4), device, {.threads = 2});
  EXPECT_EQ(pipeline.element_spec().to_string(), "(image f32 [?,32,32,3], label i64 [?])");
  int seen = 0;
  while (const auto batch = pipeline.next()) {
    const Tensor& images = batch->at(0).tensor();
    const Tensor& labels = batch->at(1).tensor();
    ASSERT_EQ(images.dim(0), labels.dim(0));
    seen += static_cast<int>(images.dim(0));
    for (const float value : images.to_vector<float>()) {
      ASSERT_GE(value, 0.0F);
      ASSERT_LE(value, 1.0F);
    }
  }
  EXPECT_EQ(seen, 10);
}

TEST(Pipeline, PicturesAreWhatLoadGives) {
  const TemporaryFolder folder;
  write_pictures(folder, 3);
  image::LoadOptions options;
  options.height = options.width = 32;
  const Device device = host();
  Pipeline pipeline(Dataset::image_folder(folder.path()).map(load_images(options)).batch(3),
                    device);
  const auto batch = pipeline.next();
  const auto files = {"a/1000.jpg", "a/1002.jpg", "b/1001.jpg"};
  std::int64_t row = 0;
  for (const char* file : files) {
    const auto expected =
        image::testing::loaded(image::testing::read_bytes(folder.path() / file), options);
    EXPECT_EQ(batch->at(0).tensor().select(0, row++).to_vector<float>(), expected) << file;
  }
}

TEST(Pipeline, BrokenPicturesAreNamedOrSkipped) {
  const TemporaryFolder folder;
  write_pictures(folder, 9);
  folder.write("a/1004.jpg", "not a picture");
  const Device device = host();
  Pipeline strict(pictures(folder, 2), device, {.threads = 2});
  std::string message;
  for (const std::string& each : rest_of(strict)) {
    if (each.starts_with("error: ")) message = each;
  }
  EXPECT_EQ(message, "error: " + (folder.path() / "a/1004.jpg").string() +
                         ": [image] neither a JPEG nor a PNG file: unknown first bytes "
                         "(load_images)");

  Pipeline lenient(pictures(folder, 2), device, {.threads = 2, .skip_errors = 1});
  EXPECT_THAT(rest_of(lenient), SizeIs(4));
  ASSERT_THAT(lenient.skipped(), SizeIs(1));
  EXPECT_THAT(lenient.skipped().front().message, HasSubstr("a/1004.jpg"));

  folder.write("b/1003.jpg", "nor this");
  Pipeline exceeded(pictures(folder, 2), device, {.threads = 2, .skip_errors = 1});
  const auto stream = rest_of(exceeded);
  EXPECT_TRUE(std::any_of(stream.begin(), stream.end(), [](const std::string& each) {
    return each.find("after 1 that were left out") != std::string::npos;
  }));
}

TEST(Pipeline, TheBudgetHoldsAndDeliveredBytesAreTheUsers) {
  const TemporaryFolder folder;
  write_pictures(folder, 24);
  const Device device = host();
  Pipeline pipeline(pictures(folder, 8).prefetch(2), device, {.limit = MiB(2), .threads = 4});
  const auto batch = pipeline.next();
  Bytes users = 0;
  for (const Holder& holder : device.budget().ledger().holders(pipeline.budget().path())) {
    if (holder.tag == Tag::user) users += holder.bytes;
  }
  EXPECT_GE(users, batch->nbytes());
  EXPECT_THAT(rest_of(pipeline), SizeIs(2));
  EXPECT_LE(pipeline.budget().peak(), MiB(2));
}

TEST(Pipeline, ABudgetThatTheSpecsExceedIsRefusedWithTheNumber) {
  const TemporaryFolder folder;
  write_pictures(folder, 2);
  const Device device = host();
  try {
    Pipeline pipeline(pictures(folder, 1000), device, {.limit = MiB(8), .threads = 1});
    FAIL() << "started";
  } catch (const BudgetTooSmall& error) {
    const Bytes batch = Bytes{1000} * (32 * 32 * 3 * 4 + 8);
    const Bytes needed = align_up(batch + KiB(256) + KiB(320), KiB(1));
    EXPECT_THAT(error.what(), HasSubstr(" " + std::to_string(needed / KiB(1)) + "KiB"));
  }
  EXPECT_EQ(device.budget().ledger().live(), 0U);
}

TEST(Pipeline, ASmallBudgetSlowsAndDoesNotDeadlock) {
  const Device device = host();
  const auto dataset = Dataset::range(50).map(takes(KiB(700)), {.parallel = 8}).prefetch(4);
  Pipeline pipeline(dataset, device, {.limit = MiB(1), .threads = 8});
  EXPECT_THAT(rest_of(pipeline), SizeIs(50));
}

TEST(Pipeline, AnElementThatNeedsMoreThanTheBudgetAloneIsNamed) {
  const Device device = host();
  Pipeline pipeline(Dataset::range(3).map(takes(MiB(4)), {.parallel = 2}), device,
                    {.limit = MiB(1), .threads = 2});
  const auto stream = rest_of(pipeline);
  ASSERT_THAT(stream, SizeIs(3));
  EXPECT_THAT(stream.front(), HasSubstr("element (0): it takes 4 MiB"));
}

TEST(Pipeline, WhatTheUserHoldsIsNamedWhenItLeavesTooLittle) {
  const Device device = host();
  MapFunction large;
  large.name = "large";
  large.output = ElementSpec{true, {TensorSpec::of(DType::u8, {400 << 10})}, {}};
  large.run = [](const Element&, MapContext& context) { return Element{Value(context.output(0))}; };
  Pipeline pipeline(Dataset::range(9).map(large, {.parallel = 2}), device,
                    {.limit = MiB(1), .threads = 2});
  std::vector<Element> held;
  EXPECT_THROW(
      {
        for (int i = 0; i < 9; ++i) held.push_back(*pipeline.next());
      },
      OutOfMemory);
  const std::size_t before = held.size();
  held.clear();
  EXPECT_THAT(rest_of(pipeline), SizeIs(9 - before)) << "nothing was lost";
}

TEST(Pipeline, DestroyingItInMidEpochNeitherHangsNorLeaks) {
  const TemporaryFolder folder;
  write_pictures(folder, 12);
  const Device device = host();
  for (int taken = 0; taken < 4; ++taken) {
    Pipeline pipeline(pictures(folder, 2).repeat().prefetch(3), device, {.threads = 3});
    for (int i = 0; i < taken; ++i) pipeline.next();
  }
  EXPECT_EQ(device.budget().ledger().live(), 0U);
}

TEST(Pipeline, CancelEndsANextThatWaits) {
  const Device device = host();
  std::latch running(1);
  std::atomic<bool> go = false;
  const auto waits = [&](const Element& element) {
    if (number(element) == 0) running.count_down();
    while (!go) std::this_thread::yield();
    return element;
  };
  Pipeline pipeline(Dataset::range(1).map(waits, {.parallel = 2}), device, {.threads = 2});
  std::thread canceller([&] {
    running.wait();
    pipeline.cancel();
  });
  EXPECT_FALSE(pipeline.next().has_value());
  canceller.join();
  go = true;
}

TEST(Pipeline, OneThreadFinishesEverything) {
  const Device device = host();
  const auto dataset = Dataset::range(200)
                           .map(plus(1), {.parallel = 4})
                           .batch(5)
                           .prefetch(2)
                           .unbatch()
                           .map(plus(1), {.parallel = 4})
                           .prefetch();
  Pipeline pipeline(dataset, device, {.threads = 1});
  EXPECT_THAT(rest_of(pipeline), SizeIs(200));
}

TEST(Pipeline, ManyEpochsLeaveNoGrowth) {
  const Device device = host();
  Pipeline pipeline(Dataset::range(64)
                        .shuffle({.elements = 16})
                        .map(plus(1), {.parallel = 2})
                        .batch(8)
                        .prefetch(2)
                        .repeat(1000),
                    device, {.threads = 2});
  Bytes early = 0;
  for (int i = 0; i < 8000; ++i) {
    ASSERT_TRUE(pipeline.next().has_value());
    if (i == 800) early = pipeline.budget().peak();
  }
  EXPECT_LE(pipeline.budget().peak(), early + KiB(64));
}

TEST(Pipeline, StatisticsNameTheStagesAndTheBottleneck) {
  const Device device = host();
  const auto slow = [](const Element& element) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 300'000; ++i) sum += i * (sum | 1);
    return Element{Value(number(element) + static_cast<std::int64_t>(sum & 1))};
  };
  Pipeline pipeline(Dataset::range(200).map(slow).batch(10), device);
  rest_of(pipeline);
  const auto stats = pipeline.stats();
  ASSERT_THAT(stats, SizeIs(3));
  EXPECT_EQ(stats[0].elements, 200U);
  EXPECT_EQ(stats[2].elements, 20U);
  ASSERT_TRUE(pipeline.bottleneck());
  EXPECT_THAT(pipeline.bottleneck()->stage, HasSubstr("map("));
  EXPECT_THAT(pipeline.bottleneck()->remedy, HasSubstr("parallel"));
}

}  // namespace
}  // namespace plimsoll::data::testing
