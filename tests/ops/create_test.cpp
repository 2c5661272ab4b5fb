#include <plimsoll/ops/create.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/ops/reduce_axis.h>
#include <plimsoll/ops/seed.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CreateTest : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(16)});
  DefaultDevice here_{device_};
};

TEST_F(CreateTest, TensorsAreF32AndOnTheDefaultDeviceUnlessSaid) {
  EXPECT_EQ(zeros({2, 3}).type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(zeros({2}).device(), device_);
  const Device other = test::own_cpu({.limit = MiB(4)});
  EXPECT_EQ(ones({2}, {.dtype = DType::i64, .device = other}).device(), other);
  EXPECT_THAT(ones({2}, {.dtype = DType::i64}).to_vector<std::int64_t>(), ElementsAre(1, 1));
  EXPECT_THAT(full({2}, 0.5).to_vector<float>(), ElementsAre(0.5F, 0.5F));
}

TEST_F(CreateTest, Sequences) {
  EXPECT_THAT(arange(3).to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(arange(3, {.dtype = DType::i64}).to_vector<std::int64_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(arange(1, 2, 0.5).to_vector<float>(), ElementsAre(1, 1.5F));
  EXPECT_THAT(arange(2, 0, -1).to_vector<float>(), ElementsAre(2, 1));
  EXPECT_EQ(arange(2, 1).elements(), 0);
  constexpr std::int64_t kLarge = (std::int64_t{1} << 60) + 1;
  const CreateOptions ints{.dtype = DType::i64};
  EXPECT_THAT(arange(kLarge, kLarge + 3, 2, ints).to_vector<std::int64_t>(),
              ElementsAre(kLarge, kLarge + 2));
  EXPECT_THAT(arange(3, -2, -2, ints).to_vector<std::int64_t>(), ElementsAre(3, 1, -1));
  EXPECT_THAT(arange(0, 4, 2, ints).to_vector<std::int64_t>(), ElementsAre(0, 2));
  EXPECT_EQ(arange(0, 4, -1, ints).elements(), 0);
  EXPECT_THAT(full({2}, kLarge, ints).to_vector<std::int64_t>(), ElementsAre(kLarge, kLarge));
  EXPECT_THAT(linspace(0, 1, 3).to_vector<float>(), ElementsAre(0, 0.5F, 1));
  EXPECT_THAT(linspace(4, 9, 1).to_vector<float>(), ElementsAre(4));
  EXPECT_THAT(eye(2).to_vector<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THROW(arange(0, 1, 0), InvalidArgument);
  EXPECT_THROW(linspace(0, 1, 0), InvalidArgument);
}

TEST_F(CreateTest, SequencesThatDoNotFitTakeNothingAndNothingIsHeldBesideThose) {
  const Device small = test::own_cpu({.limit = MiB(2)});
  for (const DType dtype : {DType::i64, DType::f32, DType::f64, DType::i32}) {
    const CreateOptions there{.dtype = dtype, .device = small};
    EXPECT_THROW(arange(0, std::int64_t{1} << 50, 1, there), OutOfMemory);
    EXPECT_THROW(linspace(0, 1, std::int64_t{1} << 50, there), OutOfMemory);
    EXPECT_THROW(eye(std::int64_t{1} << 25, there), OutOfMemory);
    EXPECT_EQ(small.budget().used(), 0U);
  }
  EXPECT_THROW(arange(0, 1e300, 1), InvalidArgument);
  constexpr std::int64_t kParts = (std::int64_t{1} << 14) * 2 + 5;  // computed in parts
  const std::vector<float> counted = arange(kParts).to_vector<float>();
  for (std::int64_t i = 0; i < kParts; ++i) {
    ASSERT_EQ(counted[static_cast<std::size_t>(i)], static_cast<float>(i));
  }
}

TEST_F(CreateTest, NestedListsOfAnyDepth) {
  EXPECT_EQ(tensor(3).shape(), Shape());
  EXPECT_EQ(tensor({1, 2, 3}).shape(), Shape({3}));
  EXPECT_EQ(tensor({{1}, {2}}).shape(), Shape({2, 1}));
  const Tensor cube = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, {.dtype = DType::i64});
  EXPECT_EQ(cube.shape(), Shape({2, 2, 2}));
  EXPECT_THAT(cube.to_vector<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THROW(tensor({{1, 2}, {3}}), InvalidArgument);
  EXPECT_THROW(tensor({{1, 2}, 3}), InvalidArgument);
}

TEST_F(CreateTest, ReductionsTakeAnAxis) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_THAT(ops::mean(x, 1).to_vector<float>(), ElementsAre(2, 5));
  EXPECT_THAT(ops::sum(x, 0).to_vector<float>(), ElementsAre(5, 7, 9));
  EXPECT_THAT(ops::max(x, -1).to_vector<float>(), ElementsAre(3, 6));
  EXPECT_EQ(ops::mean(x).item<float>(), 3.5F);
}

TEST_F(CreateTest, TheSeedDecidesWhatIsDrawn) {
  ops::set_seed(1);
  const auto one = random_normal({4}).to_vector<float>();
  const auto next = random_normal({4}).to_vector<float>();
  EXPECT_NE(one, next);
  ops::set_seed(1);
  EXPECT_EQ(random_normal({4}).to_vector<float>(), one) << "a seed begins the draws anew";
  ops::set_seed(2);
  EXPECT_NE(random_normal({4}).to_vector<float>(), next);
  ops::set_seed(0);
  for (const float v : random_uniform({100}, 2, 3).to_vector<float>()) {
    EXPECT_GE(v, 2);
    EXPECT_LT(v, 3);
  }
}

TEST(DefaultDeviceTest, TheProcesssIsOpenedWithinTheBudgetOfTheEnvironment) {
  DefaultDevice::reset();
  ::setenv("PLIMSOLL_BUDGET", "24MiB", 1);
  EXPECT_EQ(DefaultDevice::get().budget().limit(), MiB(24));
  EXPECT_EQ(DefaultDevice::get(), DefaultDevice::get());
  const Device mine = test::own_cpu({.limit = MiB(4)});
  {
    const DefaultDevice scope(mine);
    EXPECT_EQ(DefaultDevice::get(), mine);
  }
  EXPECT_NE(DefaultDevice::get(), mine);
  DefaultDevice::set(mine);
  EXPECT_EQ(DefaultDevice::get(), mine);
  DefaultDevice::reset();
  ::setenv("PLIMSOLL_BUDGET", "much", 1);
  EXPECT_THROW(DefaultDevice::get(), InvalidArgument);
  ::unsetenv("PLIMSOLL_BUDGET");
  DefaultDevice::reset();
}

}  // namespace
}  // namespace plimsoll
