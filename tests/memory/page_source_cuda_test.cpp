#include "memory/cuda_source.h"
#include "memory/page_source_contract.h"

namespace plimsoll::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, PageSourceContract, ::testing::Values(kCuda, kPinned), case_name);

}  // namespace
}  // namespace plimsoll::testing
