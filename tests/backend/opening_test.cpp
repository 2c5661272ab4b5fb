// What opening a GPU took, from what its driver says before and after: no GPU is asked.

#include "backend/cuda/driver/opening.h"

#include <gtest/gtest.h>

namespace plimsoll::cuda {
namespace {

constexpr Bytes kTotal = GiB(80);

TEST(Opening, TheDriversFigureForTheProcessIsTakenWhereItTells) {
  const MemoryUse taken = taken_between({.process = {}, .free = GiB(70)},
                                        {.process = MiB(530), .free = GiB(50)}, kTotal);
  EXPECT_EQ(taken.bytes, MiB(530));
  EXPECT_EQ(taken.source, UsageSource::process);
}

TEST(Opening, WhatTheProcessHeldBeforeIsNotCounted) {
  const MemoryUse taken =
      taken_between({.process = MiB(200), .free = {}}, {.process = MiB(530), .free = {}}, kTotal);
  EXPECT_EQ(taken.bytes, MiB(330));
  EXPECT_EQ(
      taken_between({.process = MiB(600), .free = {}}, {.process = MiB(530), .free = {}}, kTotal)
          .bytes,
      0U);
}

TEST(Opening, WhereTheProcessIsHiddenTheFallOfFreeMemoryCounts) {
  const MemoryUse taken = taken_between({.process = {}, .free = GiB(70)},
                                        {.process = {}, .free = GiB(70) - MiB(500)}, kTotal);
  EXPECT_EQ(taken.bytes, MiB(500));
  EXPECT_EQ(taken.source, UsageSource::free_memory);
}

TEST(Opening, ANeighboursAllocationIsNotChargedBeyondWhatAContextCanTake) {
  const MemoryUse taken =
      taken_between({.process = {}, .free = GiB(70)}, {.process = {}, .free = GiB(30)}, kTotal);
  EXPECT_EQ(taken.bytes, kMostRuntime);
  EXPECT_EQ(taken.source, UsageSource::free_memory);
}

TEST(Opening, ANeighbourThatGivesBackMakesNoNegativeFigure) {
  const MemoryUse taken =
      taken_between({.process = {}, .free = GiB(30)}, {.process = {}, .free = GiB(70)}, kTotal);
  EXPECT_EQ(taken.bytes, 0U);
}

TEST(Opening, WithoutTheManagementLibraryAllThatIsTakenCountsUpToABound) {
  const auto taken = [](Bytes free) {
    return taken_between({.process = {}, .free = {}}, {.process = {}, .free = free}, kTotal);
  };
  EXPECT_EQ(taken(kTotal - MiB(600)).bytes, MiB(600));
  EXPECT_EQ(taken(GiB(20)).bytes, kMostRuntime);
  EXPECT_EQ(taken(GiB(20)).source, UsageSource::free_memory);
}

TEST(Use, IsTheDriversFigureOrElseTheFallOfFreeMemory) {
  const Bytes empty = GiB(70);
  const MemoryUse told = use_of({.process = GiB(6), .free = GiB(10)}, empty);
  EXPECT_EQ(told.bytes, GiB(6));
  EXPECT_EQ(told.source, UsageSource::process);

  const MemoryUse hidden = use_of({.process = {}, .free = GiB(64)}, empty);
  EXPECT_EQ(hidden.bytes, GiB(6));
  EXPECT_EQ(hidden.source, UsageSource::free_memory);
  EXPECT_EQ(use_of({.process = {}, .free = GiB(75)}, empty).bytes, 0U);

  EXPECT_EQ(use_of({}, empty).source, UsageSource::unknown);
}

}  // namespace
}  // namespace plimsoll::cuda
