#include "train/end_to_end.h"

namespace plimsoll::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, EndToEnd,
                         ::testing::Values(EndToEndCase{"vit_f16", "cpu:0", "vit", DType::f16},
                                           EndToEndCase{"unet_f32", "cpu:0", "unet", DType::f32}),
                         end_to_end_name);

}  // namespace
}  // namespace plimsoll::test
