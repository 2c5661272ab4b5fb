#include <plimsoll/base/library_pages.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "device/shadow_memory.h"

namespace plimsoll {
namespace {

Bytes resident_of_files() {
  std::ifstream status("/proc/self/status");
  unsigned long long kib = 0;
  for (std::string line; std::getline(status, line);) {
    std::sscanf(line.c_str(), "RssFile: %llu", &kib);
  }
  return KiB(kib);
}

/// Constants of some pages, so that one of them has nothing else in it.
constexpr std::size_t kPage = 4096;
alignas(kPage) constexpr volatile char kConstants[3 * kPage] = {1, 2, 3};

char& constant(std::size_t at) { return const_cast<char&>(kConstants[at]); }

TEST(LibraryPages, CountNoLongerAndComeBackWhenTheyAreUsed) {
  if (kShadowMemory) GTEST_SKIP() << "the sanitizer's own pages";
  const Bytes before = resident_of_files();
  const Bytes released = release_library_pages();
  if (released == 0) GTEST_SKIP() << "the system does not tell which pages are unchanged";
  EXPECT_LT(resident_of_files(), before - released / 4);
  EXPECT_EQ(kConstants[1], 2);
}

TEST(LibraryPages, ThatWereWrittenToStay) {
  char* const page = &constant(kPage);
  ASSERT_EQ(::mprotect(page, kPage, PROT_READ | PROT_WRITE), 0);
  constant(kPage) = 42;
  ASSERT_EQ(::mprotect(page, kPage, PROT_READ), 0);
  (void)release_library_pages();
  EXPECT_EQ(kConstants[kPage], 42);
  EXPECT_EQ(kConstants[0], 1);
}

}  // namespace
}  // namespace plimsoll
