// What a plan leaves free is lent to the input pipelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/data/map_function.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "data/image_files.h"
#include "data/pipeline_support.h"

namespace plimsoll {
namespace {

using data::testing::TemporaryFolder;
using ::testing::HasSubstr;

class LentInput : public ::testing::Test {
 protected:
  LentInput() {
    data::testing::write_pictures(folder_, 16);
    // Its coefficients alone take 3 bytes for a pixel.
    const auto large =
        image::testing::make_jpeg({.width = 2400, .height = 1600, .progressive = true});
    folder_.write("a/large.jpg", large.data(), large.size());
  }

  train::FitResult fit(Bytes limit, std::int64_t* steps = nullptr) {
    const Device device = Device::open("cpu:0", {.limit = Limit(limit)});
    train::Trainer trainer(nn::lenet({.classes = 2, .channels = 3, .size = 28}), optim::sgd({}));
    image::LoadOptions load;
    load.height = load.width = 28;
    load.channels = 3;
    load.layout = Layout::channels_first;
    const auto pictures =
        data::Dataset::image_folder(folder_.path().string()).map(data::load_images(load, true));
    const auto plan = trainer.plan({.batch = 8, .remainders = {1}}, device);
    EXPECT_LE(plan.total() + plan.lent, limit);
    EXPECT_GE(plan.total() + plan.lent + KiB(64), limit) << "all of it is put to use";
    train::FitOptions options{.epochs = 1};
    options.callbacks = {{.on_step = [&](train::Run& run) {
      if (steps != nullptr) *steps = run.step();
    }}};
    return trainer.fit(plan, pictures.batch(8), options);
  }

  TemporaryFolder folder_;
};

TEST_F(LentInput, ALargePictureIsDecodedInWhatIsFree) { EXPECT_EQ(fit(MiB(64)).steps, 3); }

TEST_F(LentInput, OneThatIsTooLargeIsNamedBeforeTheFirstStep) {
  std::int64_t steps = 0;
  Bytes enough = 0;
  try {
    fit(MiB(12), &steps);
    ADD_FAILURE();
  } catch (const BudgetTooSmall& error) {
    EXPECT_THAT(error.what(), HasSubstr("a/large.jpg takes"));
    const std::string text = error.what();
    const std::size_t at = text.find("raise it to ");
    ASSERT_NE(at, std::string::npos) << text;
    enough = parse_bytes(text.substr(at + 12, text.find(" or leave") - at - 12), "budget");
  }
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(fit(enough).steps, 3) << format_bytes(enough);
}

}  // namespace
}  // namespace plimsoll
