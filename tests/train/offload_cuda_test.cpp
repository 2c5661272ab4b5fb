// Activations and the optimizer's state in pinned memory while a GPU trains: the losses' bits, the
// host's budget and the driver's figure.
#include "train/offloaded_steps.h"

namespace plimsoll::test {
namespace {

std::vector<OffloadCase> cases() {
  const nn::Gpt2Options model{
      .vocabulary = 512, .context = 128, .features = 256, .layers = 4, .heads = 4};
  const auto of = [&](const char* name, DType precision, bool has_state) {
    return OffloadCase{name, "cuda:0", precision, has_state, model, 32, MiB(512)};
  };
  return {of("f32", DType::f32, true), of("bf16", DType::bf16, true),
          of("bf16_sgd", DType::bf16, false)};
}

INSTANTIATE_TEST_SUITE_P(Gpu, OffloadedSteps, ::testing::ValuesIn(cases()), offload_case_name);

}  // namespace
}  // namespace plimsoll::test
