#include <gtest/gtest.h>

#include "data/image_mutation.h"

namespace plimsoll::image::testing {
namespace {

TEST(ImageFuzz, DamagedPicturesEndInDataErrorOrAPicture) {
  EXPECT_EQ(fuzz_pictures(1'000, 20'240'801), "");
}

}  // namespace
}  // namespace plimsoll::image::testing
