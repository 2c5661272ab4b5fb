// Whole runs on a GPU: resumed there and on the CPU, validated, evaluated, predicting.
#include "train/end_to_end.h"

namespace plimsoll::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Gpu, EndToEnd,
    ::testing::Values(EndToEndCase{"vit_f32", "cuda:0", "vit", DType::f32, 2e-3, 2},
                      EndToEndCase{"vit_f16", "cuda:0", "vit", DType::f16, 2e-2, 2},
                      EndToEndCase{"vit_bf16", "cuda:0", "vit", DType::bf16, 6e-2, 2},
                      EndToEndCase{"unet_bf16", "cuda:0", "unet", DType::bf16, 6e-2, 2}),
    end_to_end_name);

}  // namespace
}  // namespace plimsoll::test
