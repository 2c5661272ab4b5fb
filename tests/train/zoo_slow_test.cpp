#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/nn/model.h>

#include "support/random_training.h"

namespace plimsoll {
namespace {

struct Zoo {
  const char* model;
  nn::ModelOptions options;
  std::int64_t batch;
  std::int64_t steps = 1;
};

std::string name_of(const Zoo& zoo) {
  return fmt::format("{}_{}_x{}", zoo.model, zoo.options.size, zoo.batch);
}

train::Trainer zoo_trainer(const Zoo& zoo, DType compute) {
  return train::Trainer(nn::make_model(zoo.model, zoo.options),
                        optim::sgd({.lr = 0.01, .momentum = 0.9}),
                        {.precision = compute, .allow_split = false});
}

/// Every model, the large ones with one step on one or two elements.
class EveryModel : public ::testing::TestWithParam<std::tuple<Zoo, DType>> {};

TEST_P(EveryModel, TakesWhatWasPlannedAndHasTheSameLossesWithinFiveBudgets) {
  const auto& [zoo, compute] = GetParam();
  const auto model = nn::make_model(zoo.model, zoo.options);
  test::check_budgets([&zoo = zoo, &compute = compute] { return zoo_trainer(zoo, compute); },
                      test::any_data(model, 2, zoo.steps * zoo.batch), zoo.batch, zoo.steps, 5);
}

std::string both(const ::testing::TestParamInfo<std::tuple<Zoo, DType>>& tested) {
  const auto& [zoo, compute] = tested.param;
  return fmt::format("{}_{}", name_of(zoo), dtype_name(compute));
}

const auto kDTypes = ::testing::Values(DType::f32, DType::bf16);

INSTANTIATE_TEST_SUITE_P(
    Small, EveryModel,
    ::testing::Combine(::testing::Values(Zoo{"mlp", {}, 1, 3}, Zoo{"mlp", {}, 32, 3},
                                         Zoo{"lenet", {}, 1, 3}, Zoo{"lenet", {}, 16, 3},
                                         Zoo{"resnet18", {.classes = 10, .size = 64}, 1, 2},
                                         Zoo{"resnet18", {.classes = 10, .size = 64}, 4, 2},
                                         Zoo{"vit_tiny", {.classes = 10, .size = 64}, 1, 2},
                                         Zoo{"vit_tiny", {.classes = 10, .size = 64}, 8, 2},
                                         Zoo{"gpt2_tiny", {}, 1, 3}, Zoo{"gpt2_tiny", {}, 8, 3},
                                         Zoo{"dlrm", {.classes = 200, .size = 5}, 1, 3},
                                         Zoo{"dlrm", {.classes = 200, .size = 5}, 32, 3}),
                       kDTypes),
    both);
INSTANTIATE_TEST_SUITE_P(
    Large, EveryModel,
    ::testing::Combine(::testing::Values(Zoo{"resnet50", {.classes = 10, .size = 64}, 2, 2},
                                         Zoo{"resnet50", {.size = 224}, 1},
                                         Zoo{"vit_b16", {.classes = 10, .size = 224}, 1},
                                         Zoo{"vit_b16", {.classes = 10, .size = 64}, 2},
                                         Zoo{"gpt2", {.size = 64}, 2},
                                         Zoo{"gpt2", {.size = 1024}, 1},
                                         Zoo{"unet", {.size = 64}, 2},
                                         Zoo{"unet", {.size = 256}, 1}),
                       kDTypes),
    both);

/// What the checking executor looks at grows with tasks times bytes: smaller inputs.
class EveryTask : public ::testing::TestWithParam<std::tuple<Zoo, DType>> {};

TEST_P(EveryTask, KeepsToItsMemoryWithinTheSmallestBudget) {
  const auto& [zoo, compute] = GetParam();
  const auto model = nn::make_model(zoo.model, zoo.options);
  (void)test::check_every_task(
      [&zoo = zoo, &compute = compute] { return zoo_trainer(zoo, compute); },
      test::any_data(model, 2, zoo.batch), zoo.batch);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, EveryTask,
    ::testing::Combine(::testing::Values(Zoo{"mlp", {}, 32}, Zoo{"lenet", {}, 16},
                                         Zoo{"resnet18", {.size = 64}, 4},
                                         Zoo{"resnet50", {.size = 64}, 4},
                                         Zoo{"vit_tiny", {.size = 64}, 8},
                                         Zoo{"vit_b16", {.size = 64}, 2},
                                         Zoo{"gpt2", {.size = 64}, 2}, Zoo{"gpt2_tiny", {}, 8},
                                         Zoo{"unet", {.size = 64}, 2}),
                       kDTypes),
    both);

}  // namespace
}  // namespace plimsoll
