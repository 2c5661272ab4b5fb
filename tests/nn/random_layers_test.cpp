// Twenty random configurations of each layer and function, the odd ones among them, beside
// PyTorch's values and gradients, in f32, f16 and bf16 (tests/nn/record/record_random.py).
#include <gtest/gtest.h>

#include "support/random_layers.h"

namespace plimsoll {
namespace {

class RandomLayers : public ::testing::TestWithParam<test::RandomFamily> {};

TEST_P(RandomLayers, EqualPyTorchs) { GetParam().check(); }

INSTANTIATE_TEST_SUITE_P(All, RandomLayers, ::testing::ValuesIn(test::random_families()),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace plimsoll
