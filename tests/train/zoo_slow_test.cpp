#include <gtest/gtest.h>

#include <plimsoll/nn/model.h>

#include "support/random_training.h"

namespace plimsoll {
namespace {

struct Zoo {
  const char* model;
  nn::ModelOptions options;
  std::int64_t batch;
};

class EveryModel : public testing::TestWithParam<Zoo> {};

TEST_P(EveryModel, TakesWhatWasPlannedAndHasTheSameLossesWithinFiveBudgets) {
  const Zoo& zoo = GetParam();
  for (const DType compute : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(dtype_name(compute));
    const auto model = nn::make_model(zoo.model, zoo.options);
    test::check_budgets(
        [&] {
          return train::Trainer(nn::make_model(zoo.model, zoo.options),
                                optim::sgd({.lr = 0.01, .momentum = 0.9}),
                                {.precision = compute, .allow_split = false});
        },
        test::any_data(*model, 2, 2 * zoo.batch), zoo.batch, 2, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel,
                         testing::Values(Zoo{"mlp", {}, 32}, Zoo{"lenet", {}, 16},
                                         Zoo{"resnet18", {.classes = 10, .size = 64}, 4},
                                         Zoo{"resnet50", {.classes = 10, .size = 64}, 2},
                                         Zoo{"vit_tiny", {.classes = 10, .size = 64}, 2},
                                         Zoo{"vit_b16", {.classes = 10, .size = 64}, 1},
                                         Zoo{"gpt2", {.size = 32}, 1}, Zoo{"gpt2_tiny", {}, 4},
                                         Zoo{"unet", {.size = 64}, 1}),
                         [](const auto& tested) { return std::string(tested.param.model); });

}  // namespace
}  // namespace plimsoll
