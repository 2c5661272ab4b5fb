#include <gtest/gtest.h>

#include "data/image_mutation.h"

namespace plimsoll::image::testing {
namespace {

TEST(ImageFuzz, TwentyThousandDamagedPicturesEndInDataErrorOrAPicture) {
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_EQ(fuzz_pictures(1'000, seed), "");
}

}  // namespace
}  // namespace plimsoll::image::testing
