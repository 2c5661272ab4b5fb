#include <gtest/gtest.h>

#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/host_pages.h>

#include "memory/arena_threads.h"

namespace plimsoll::testing {
namespace {

TEST(ArenaProperties, EightThreadsKeepEveryLimitAndLeaveNothing) {
  for (const unsigned seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    OpenedSource opened;
    opened.source = make_dry_pages(KiB(64));
    check_threads(opened, seed, 16'000);
  }
}

TEST(ArenaProperties, EightThreadsFindWhatTheyHaveWritten) {
  OpenedSource opened;
  opened.source = make_host_pages({.page_size = KiB(64)});
  check_threads(touchable(opened), 3, 2'000);
}

}  // namespace
}  // namespace plimsoll::testing
