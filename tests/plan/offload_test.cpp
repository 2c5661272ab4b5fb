// What has no room on the device goes to the host's memory and comes back, beside the computation.
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>

#include "device/device_state.h"
#include "plan/range_use.h"
#include "support/layer_stack.h"
#include "support/lazy_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

class Offload : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(256)});
  test::LayerStack stack_{device_, 12, 512, 256};
  plan::PlanOptions options_ = [this] {
    plan::PlanOptions options{.device = plan::describe_device(device_)};
    options.device.page_size = 1;
    options.device.host_bytes_per_second = 1e12;
    return options;
  }();

  std::shared_ptr<Storage> host(const plan::Plan& plan) const {
    return Storage::allocate(device_, plan.host, Tag::staging, "host");
  }
};

TEST_F(Offload, TheSameBitsAtEveryBudgetAndLessTimeThanComputingAgain) {
  plan::Planner without(stack_.graph, options_);
  options_.host_room = MiB(64);
  plan::Planner with(stack_.graph, options_);
  const auto expected = stack_.losses(without.largest(), device_);
  EXPECT_TRUE(with.largest().copies.empty());
  const plan::Plan least = with.smallest();
  EXPECT_LE(least.total(), without.smallest().total());
  const Bytes most = with.largest().total();
  bool used = false;
  for (int i = 0; i <= 8; ++i) {
    const Bytes budget = least.total() + (most - least.total()) * static_cast<Bytes>(i) / 8;
    const plan::Plan plan = with.plan(budget);
    EXPECT_LE(plan.total(), budget);
    EXPECT_LE(plan.host, options_.host_room);
    EXPECT_NO_THROW(plan::follow_range(plan)) << plan.explain();
    EXPECT_EQ(stack_.losses(plan, device_, 3, host(plan)), expected) << plan.explain();
    if (const auto other = without.find(budget)) {
      EXPECT_LE(plan.seconds, other->seconds * 1.001);
    }
    used = used || !plan.copies.empty();
  }
  EXPECT_TRUE(used);
}

TEST_F(Offload, ASlowBusIsNotUsedAndASmallRoomIsKept) {
  plan::Planner without(stack_.graph, options_);
  const Bytes budget = (without.largest().total() + without.smallest().total()) / 2;
  options_.host_room = MiB(64);
  options_.device.host_bytes_per_second = 1e6;
  EXPECT_TRUE(plan::Planner(stack_.graph, options_).plan(budget).copies.empty());
  options_.device.host_bytes_per_second = 1e12;
  options_.host_room = MiB(1);
  const plan::Plan plan = plan::Planner(stack_.graph, options_).plan(budget);
  EXPECT_GT(plan.host, 0U);
  EXPECT_LE(plan.host, MiB(1));
}

TEST_F(Offload, WaitsAreCounted) {
  // A bus on which a value takes as long as a layer: some can be hidden, not all.
  options_.host_room = MiB(64);
  plan::Planner free(stack_.graph, options_);
  const double layer = free.largest().seconds / 36;
  options_.device.host_bytes_per_second = static_cast<double>(KiB(512)) / (4 * layer);
  plan::Planner planner(stack_.graph, options_);
  const plan::Plan plan = planner.smallest();
  EXPECT_GE(plan.seconds, plan.kept_seconds);
  EXPECT_NO_THROW(plan::follow_range(plan));
  EXPECT_EQ(stack_.losses(plan, device_, 3, host(plan)), stack_.losses(planner.largest(), device_));
}

TEST_F(Offload, TheSmallestBudgetDoesNotDependOnAMeasuredRate) {
  options_.host_room = MiB(64);
  options_.device.host_bytes_per_second = 5e10;
  Bytes expected = 0;
  for (const double rate : {0.0, 1e9, 4.9e10, 5.1e10, 1e12}) {
    options_.device.measured_copy_rate = rate;
    plan::Planner planner(stack_.graph, options_);
    const Bytes least = planner.smallest().total();
    if (expected == 0) expected = least;
    EXPECT_EQ(least, expected) << rate;
    EXPECT_LE(planner.plan(least).total(), least);
  }
}

TEST_F(Offload, ASlowBusSavesMemoryByWaiting) {
  options_.host_room = MiB(64);
  const Bytes quick = plan::Planner(stack_.graph, options_).smallest().total();
  options_.device.host_bytes_per_second = 1e8;
  plan::Planner slow(stack_.graph, options_);
  EXPECT_LE(slow.smallest().total(), quick + quick / 20);
  EXPECT_EQ(stack_.losses(slow.smallest(), device_, 3, host(slow.smallest())),
            stack_.losses(slow.largest(), device_));
}

TEST_F(Offload, WhatTouchesACopyInFlightIsFound) {
  options_.host_room = MiB(64);
  plan::Planner planner(stack_.graph, options_);
  plan::Plan plan = planner.smallest();
  ASSERT_FALSE(plan.copies.empty());
  for (std::size_t i = 0; i < plan.copies.size(); ++i) {
    plan::Plan late = plan;
    if (late.copies[i].out) {
      late.copies.erase(late.copies.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      late.copies[i].needed = static_cast<int>(late.tasks.size());
    }
    EXPECT_THROW(plan::follow_range(late), InternalError) << i;
  }
}

TEST_F(Offload, TheHostsMemoryMustBeGiven) {
  options_.host_room = MiB(64);
  const plan::Plan plan = plan::Planner(stack_.graph, options_).smallest();
  ASSERT_GT(plan.host, 0U);
  EXPECT_THROW(plan::Executor(plan, device_), InvalidArgument);
  EXPECT_THROW(
      plan::Executor(plan, device_,
                     {.host = Storage::allocate(device_, plan.host - 1, Tag::staging, "host")}),
      InvalidArgument);
}

TEST_F(Offload, AStepThatFailsInTheMiddleLeavesNoCopyUnderWay) {
  // Kernels are the CPU's, copies are done when somebody waits for them.
  struct Failing final : LazyBackend {
    using LazyBackend::LazyBackend;
    DeviceInfo info() const override {
      DeviceInfo info = LazyBackend::info();
      info.name = "cpu:7";
      return info;
    }
    void wait(StreamId stream, Fence& fence) override {
      if (--left == 0) throw DeviceError("[test] it failed");
      LazyBackend::wait(stream, fence);
    }
    int left = 12;
  };
  const auto backend = std::make_shared<Failing>(MiB(256));
  const Device lazy = Device::State::open(backend, {.limit = MiB(256)});
  const test::LayerStack stack(lazy, 12, 512, 256);
  options_.host_room = MiB(64);
  const plan::Plan plan = plan::Planner(stack.graph, options_).smallest();
  ASSERT_GT(plan.copies.size(), 4U);
  {
    plan::Executor executor(plan, lazy,
                            {.host = Storage::allocate(lazy, plan.host, Tag::staging, "host")});
    std::vector<Tensor> feeds;
    for (const plan::Place& place : plan.inputs) {
      const TensorType& type = plan.graph->value(place.value).type;
      feeds.push_back(Tensor::zeros(type.shape, type.dtype, lazy));
    }
    EXPECT_THROW(executor.run(feeds, {}), DeviceError);
    EXPECT_FALSE(backend->idle());
  }
  EXPECT_TRUE(backend->idle());
}

TEST_F(Offload, TheRateOfCopiesIsMeasuredWithinTheBudgets) {
  const auto rate = plan::measure_copy_rate(device_, device_);
  ASSERT_TRUE(rate);
  EXPECT_GT(*rate, 1e7);
  const Device small = test::own_cpu({.limit = MiB(16)});
  EXPECT_FALSE(plan::measure_copy_rate(small, device_));
}

TEST_F(Offload, OnlyAnOptimizersStateCanBeAway) {
  options_.away = {"w3"};
  EXPECT_THROW(plan::Planner(stack_.graph, options_), InvalidArgument);
  EXPECT_TRUE(plan::movable_state_of(*stack_.graph).empty());
}

}  // namespace
}  // namespace plimsoll
