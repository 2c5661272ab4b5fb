// A third backend does what the others do, and nothing but its folder knows of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>
#include <plimsoll/plimsoll.h>

#include "support/toy_training.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Device open(const char* name) { return Device::open(name, {.limit = MiB(128)}); }

TEST(TwinBackend, ItsDevicesAreListedAndOpenedByName) {
  const auto devices = list_devices();
  EXPECT_EQ(devices.front().name, "cpu:0");
  EXPECT_THAT(devices, Contains(Field(&DeviceInfo::name, "twin:1")));
  const Device device = open("twin:1");
  EXPECT_EQ(device.name(), "twin:1");
  EXPECT_EQ(device.ordinal(), 1);
  EXPECT_EQ(device.backend().name, "twin");
  EXPECT_THAT([] { open("twin:2"); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("twin:2"), HasSubstr("twin:0"))));
}

TEST(TwinBackend, ItsBudgetRefusesAndRecovers) {
  const Device device = open("twin:0");
  EXPECT_THROW(device.allocate(MiB(200), Tag::user, "too much"), OutOfMemory);
  EXPECT_EQ(device.budget().used(), 0U);
  EXPECT_TRUE(device.allocate(MiB(100), Tag::user, "enough"));
}

TEST(TwinBackend, TensorsGoThereAndBack) {
  const Device host = open("cpu:0");
  const Device first = open("twin:0");
  const Device second = open("twin:1");
  const Tensor there = tensor({1, 2, 3}, {.device = host}).to(first).to(second);
  EXPECT_FALSE(there.storage()->host_accessible());
  EXPECT_THROW(there.data<float>(), InvalidArgument);
  EXPECT_THAT(there.to(host).to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST(TwinBackend, OpsAndFunctionsRunThere) {
  const Device device = open("twin:0");
  const Tensor x = tensor({-1, 0, 2}, {.device = device});
  EXPECT_THAT(relu(x).to_vector<float>(), ElementsAre(0, 0, 2));
  const auto twice = function([](const Tensor& of) { return of * 2; });
  EXPECT_THAT(twice(x).to_vector<float>(), ElementsAre(-2, 0, 4));
}

TEST(TwinBackend, TrainingGivesTheCpusNumbers) {
  const Device host = open("cpu:0");
  const auto losses = [&](const Device& device) {
    Trainer trainer(
        nn::Sequential(nn::Dense(16), nn::ReLU(), nn::Dense(4)),
        {.loss = "cross_entropy", .optimizer = optim::adam({.lr = 0.01}), .device = device});
    return trainer.fit(test::toy_data(256).batch(32), {}, {.epochs = 2, .host = host}).losses;
  };
  const auto expected = losses(host);
  EXPECT_EQ(expected.size(), 16U);
  EXPECT_EQ(losses(open("twin:1")), expected);
}

}  // namespace
}  // namespace plimsoll
