#include "train/offloaded_steps.h"

namespace plimsoll::test {
namespace {

std::vector<OffloadCase> cases() {
  const nn::Gpt2Options model{
      .vocabulary = 40, .context = 24, .features = 48, .layers = 3, .heads = 2};
  const auto of = [&](const char* name, DType precision, bool has_state) {
    return OffloadCase{name, "cpu:0", precision, has_state, model, 16, MiB(64)};
  };
  return {of("f32", DType::f32, true), of("bf16_sgd", DType::bf16, false)};
}

INSTANTIATE_TEST_SUITE_P(Cpu, OffloadedSteps, ::testing::ValuesIn(cases()), offload_case_name);

}  // namespace
}  // namespace plimsoll::test
