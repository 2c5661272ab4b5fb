#include <plimsoll/report/plan_picture.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string picture(Bytes budget) {
  const Device device = Device::open("cpu:0", {.limit = MiB(64)});
  train::Trainer trainer(nn::mlp({.in = 64, .hidden = {256}}),
                         {.optimizer = optim::adamw(), .device = device});
  return plan_svg(trainer.plan({.batch = 32, .budget = budget}, device));
}

TEST(PlanPicture, ShowsTagsAndTheBudgetAsALine) {
  const std::string svg = picture(MiB(8));
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("optimizer "));
  EXPECT_THAT(svg, HasSubstr("activations "));
  EXPECT_THAT(svg, HasSubstr("budget 8 MiB</text>"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
}

TEST(PlanPicture, SaysABudgetThatIsFarAbove) {
  const std::string svg = picture(MiB(64));
  EXPECT_THAT(svg, HasSubstr("budget 64 MiB, far above"));
  EXPECT_THAT(svg, Not(HasSubstr("stroke-dasharray")));
}

}  // namespace
}  // namespace plimsoll::report
