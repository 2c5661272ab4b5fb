#include "device/device_limits.h"

namespace plimsoll {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, DeviceLimits, ::testing::Values("cuda:0"), device_case_name);

}  // namespace
}  // namespace plimsoll
