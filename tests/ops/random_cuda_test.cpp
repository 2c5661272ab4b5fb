#include "ops/random_draws.h"

namespace plimsoll::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Gpu, RandomDraws, ::testing::Values("cuda:0"), draws_case_name);

}  // namespace
}  // namespace plimsoll::test
