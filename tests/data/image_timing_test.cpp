#include <gtest/gtest.h>

#include <ctime>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

/// Processor time of this thread: what other programs take does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Times {
  double full = 1e9;
  double scaled = 1e9;
};

/// The shortest of several turns, taken alternately.
Times best_times(const File& file, LoadOptions options, int turns) {
  Times best;
  for (int i = 0; i < turns; ++i) {
    for (const bool scaled : {false, true}) {
      options.allow_scaled = scaled;
      const double start = thread_seconds();
      loaded(file, options);
      double& least = scaled ? best.scaled : best.full;
      least = std::min(least, thread_seconds() - start);
    }
  }
  return best;
}

TEST(ImageTiming, ScaledDecodingIsNotChosenWhereFullDecodingIsFaster) {
  struct Case {
    std::vector<std::array<int, 2>> sampling;
    bool progressive;
  };
  const std::vector<Case> cases{{{{2, 2}, {1, 1}, {1, 1}}, false},
                                {{{2, 1}, {1, 1}, {1, 1}}, false},
                                {{{1, 1}, {1, 1}, {1, 1}}, false},
                                {{{4, 1}, {1, 1}, {1, 1}}, false},
                                {{{2, 2}, {1, 1}, {1, 1}}, true}};
  const Pixels pixels = draw({.width = 1200, .height = 900, .textured = true});
  for (const Case& c : cases) {
    const File file = encode_jpeg({.width = 1200,
                                   .height = 900,
                                   .quality = 90,
                                   .sampling = c.sampling,
                                   .progressive = c.progressive},
                                  pixels);
    // At 1/2, 1/4, 1/8, and far below, where full decoding steps over most blocks.
    for (const int edge : {400, 224, 110, 40}) {
      const LoadOptions options{.height = edge, .width = edge};
      Times best = best_times(file, options, 5);
      // A machine that is busy deserves a second look.
      if (best.scaled > 1.05 * best.full) best = best_times(file, options, 25);
      EXPECT_LE(best.scaled, 1.05 * best.full)
          << c.sampling[0][0] << "x" << c.sampling[0][1] << " to " << edge
          << (c.progressive ? ", progressive" : "");
    }
  }
}

}  // namespace
}  // namespace plimsoll::image::testing
