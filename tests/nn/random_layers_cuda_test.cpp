// The same random configurations as on the CPU, beside the same values and gradients of PyTorch, on
// a GPU.
#include <gtest/gtest.h>

#include "support/on_gpu.h"
#include "support/random_layers.h"
#include "support/recorded.h"

namespace plimsoll {
namespace {

class RandomLayersOnGpu : public test::OnGpu,
                          public ::testing::WithParamInterface<test::RandomFamily> {};

TEST_P(RandomLayersOnGpu, EqualPyTorchs) {
  if (!GetParam().on_gpus) GTEST_SKIP() << "computed on the host alone";
  const test::RecordedOn device(gpu());
  GetParam().check();
}

INSTANTIATE_TEST_SUITE_P(All, RandomLayersOnGpu, ::testing::ValuesIn(test::random_families()),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace plimsoll
