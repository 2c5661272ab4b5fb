// What is chosen where a number of threads or of elements ahead was left open.

#include <gtest/gtest.h>

#include "data/engine/thread_tuner.h"

namespace plimsoll::data::testing {
namespace {

/// A stage that is looked at every 60 ms.
struct Watched {
  explicit Watched(int most) : tuner(most) { tuner.look(0, 0); }
  /// The shares of the time that the consumer waits, and of the pulls that find nothing.
  /// `at_work`: how many threads' time calls have taken.
  int after(int looks, double waits, double empty, bool no_memory = false, double at_work = 0) {
    for (int i = 0; i < looks; ++i) {
      for (int k = 0; k < 100; ++k) {
        tuner.note_asked();
        if (k < empty * 100) tuner.note_empty();
      }
      if (no_memory) tuner.note_no_memory();
      tuner.note_busy(0.06 * at_work);
      now += 0.06;
      waited += 0.06 * waits;
      tuner.look(now, waited);
    }
    return tuner.threads();
  }
  ThreadTuner tuner;
  double now = 0;
  double waited = 0;
};

TEST(ThreadTuner, KeepsAllThreadsWhileTheConsumerWaitsForTheStage) {
  Watched stage(8);
  EXPECT_EQ(stage.after(100, 0.9, 1), 8);
}

TEST(ThreadTuner, TakesFewerWhileNobodyWaits) {
  Watched stage(8);
  EXPECT_EQ(stage.after(4, 0, 1), 7);
  EXPECT_EQ(stage.after(100, 0, 1), 1);
  // The consumer waits, but for another stage: this one always has something ready.
  Watched cheap(4);
  EXPECT_EQ(cheap.after(100, 0.9, 0), 1);
}

TEST(ThreadTuner, KeepsThreadsThatWouldOtherwiseHaveNoRest) {
  // A loop that computes takes what seven threads can make, and hardly ever waits.
  Watched stage(16);
  const int chosen = stage.after(400, 0, 1, false, 7);
  EXPECT_GE(chosen, 8);
  EXPECT_LE(chosen, 10);
  EXPECT_EQ(stage.after(400, 0.001, 1, false, 7), chosen);
  // It takes less, and then more than those can make.
  EXPECT_LE(stage.after(400, 0, 1, false, 2), 3);
  EXPECT_GE(stage.after(3, 0.03, 1, false, 3), 6) << "waits of 3% of the time are too many";
}

TEST(ThreadTuner, GrowsAtOnceAndRemembersWhatWasTooFew) {
  Watched stage(8);
  stage.after(100, 0, 1);
  EXPECT_EQ(stage.after(1, 0.5, 1), 2);
  EXPECT_EQ(stage.after(1, 0.5, 1), 4);
  EXPECT_EQ(stage.after(50, 0, 1), 3) << "two were too few";
  EXPECT_EQ(stage.after(400, 0, 1), 1) << "which is forgotten in the end";
}

TEST(ThreadTuner, DoesNotGrowWhereMemoryIsTheLimit) {
  Watched stage(8);
  stage.after(100, 0, 1);
  EXPECT_EQ(stage.after(10, 0.9, 1, true), 1);
  EXPECT_EQ(stage.after(10, 0.9, 1, false), 8);
}

}  // namespace
}  // namespace plimsoll::data::testing
