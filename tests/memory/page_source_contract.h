#pragma once

// What every page source promises, as one suite. A test file brings cases and instantiates it:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, PageSourceContract, ::testing::Values(my_case), case_name);

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <plimsoll/memory/page_source.h>

#include "memory/opened_source.h"

namespace plimsoll::testing {

class PageSourceContract : public ::testing::TestWithParam<SourceCase> {
 protected:
  void SetUp() override {
    opened_ = GetParam().open();
    if (!opened_.source) GTEST_SKIP() << opened_.why_not;
    source_ = opened_.source.get();
    page_ = source_->page_size();
  }

  Bytes pages(Bytes n) const { return n * page_; }
  AddressRange part(AddressRange range, Bytes first, Bytes count) const {
    return {range.begin + pages(first), pages(count)};
  }

  bool touchable() const { return opened_.write != nullptr; }

  /// Writes `value` at both ends of each page.
  void fill(AddressRange range, std::uint8_t value) {
    if (!touchable()) return;
    const std::vector<std::uint8_t> bytes(64, value);
    for (std::uintptr_t at = range.begin; at < range.end(); at += page_) {
      opened_.write(at, bytes);
      opened_.write(at + page_ - bytes.size(), bytes);
    }
  }

  void expect_filled(AddressRange range, std::uint8_t value) {
    if (!touchable()) return;
    const std::vector<std::uint8_t> bytes(64, value);
    for (std::uintptr_t at = range.begin; at < range.end(); at += page_) {
      ASSERT_EQ(opened_.read(at, bytes.size()), bytes) << "page at offset " << at - range.begin;
      ASSERT_EQ(opened_.read(at + page_ - bytes.size(), bytes.size()), bytes);
    }
  }

  /// Writes all of a range, so that no page of it is left untaken.
  void fill_all(AddressRange range) {
    const std::vector<std::uint8_t> bytes(std::min<Bytes>(range.size, MiB(2)), 0x5a);
    for (std::uintptr_t at = range.begin; at < range.end(); at += bytes.size()) {
      opened_.write(at, bytes);
    }
  }

  std::vector<AddressRange> chunks(AddressRange mapped) const {
    std::vector<AddressRange> all;
    for (std::uintptr_t at = mapped.begin; at < mapped.end(); at = all.back().end()) {
      all.push_back({at, source_->chunk_size(at)});
    }
    return all;
  }

  Bytes used() const { return opened_.used(); }

  OpenedSource opened_;
  PageSource* source_ = nullptr;
  Bytes page_ = 0;
};

TEST_P(PageSourceContract, HasANameAndAPowerOfTwoForAPage) {
  EXPECT_FALSE(source_->name().empty());
  EXPECT_GT(page_, 0U);
  EXPECT_EQ(page_ & (page_ - 1), 0U);
}

TEST_P(PageSourceContract, ReservedRangesAreAlignedAndDisjoint) {
  std::vector<AddressRange> ranges;
  for (Bytes n : {1, 7, 64, 3}) ranges.push_back(source_->reserve(pages(n)));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].begin % page_, 0U);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(ranges[i].end() <= ranges[j].begin || ranges[j].end() <= ranges[i].begin);
    }
  }
  EXPECT_EQ(ranges[1].size, pages(7));
  for (AddressRange range : ranges) source_->release(range);
}

TEST_P(PageSourceContract, ReservingATebibyteTakesNoMemory) {
  const Bytes before = opened_.used ? used() : 0;
  const AddressRange range = source_->reserve(GiB(1024));
  ASSERT_EQ(range.size, GiB(1024));
  if (opened_.used) {
    EXPECT_LE(used(), before + opened_.used_slack);
  }
  // Any place in it serves.
  const AddressRange last{range.end() - page_, page_};
  source_->map(last, 0);
  fill(last, 0x17);
  expect_filled(last, 0x17);
  source_->unmap(last);
  source_->release(range);
}

TEST_P(PageSourceContract, AnImpossibleReservationIsOutOfPages) {
  EXPECT_THROW((void)source_->reserve(Bytes{1} << 62), OutOfPages);
}

TEST_P(PageSourceContract, ReservingAndReleasingLeavesNothingBehind) {
  const Bytes before = opened_.used ? used() : 0;
  for (int i = 0; i < 100; ++i) source_->release(source_->reserve(pages(1024)));
  if (opened_.used) {
    EXPECT_LE(used(), before + opened_.used_slack);
  }
}

TEST_P(PageSourceContract, MappedMemoryHoldsWhatIsWritten) {
  const AddressRange range = source_->reserve(pages(16));
  const AddressRange mapped = part(range, 4, 8);
  source_->map(mapped, 0);
  fill(mapped, 0xa5);
  expect_filled(mapped, 0xa5);
  source_->unmap(mapped);
  source_->release(range);
}

TEST_P(PageSourceContract, PagesMappedInAnyOrderStayApart) {
  constexpr Bytes kPages = 24;
  const AddressRange range = source_->reserve(pages(kPages));
  std::vector<Bytes> order(kPages);
  for (Bytes i = 0; i < kPages; ++i) order[i] = i;
  std::mt19937 random(7);  // NOLINT: the same order every time
  std::shuffle(order.begin(), order.end(), random);
  for (Bytes i : order) {
    source_->map(part(range, i, 1), 0);
    fill(part(range, i, 1), static_cast<std::uint8_t>(i + 1));
  }
  for (Bytes i = 0; i < kPages; i += 2) source_->unmap(part(range, i, 1));
  for (Bytes i = 1; i < kPages; i += 2) {
    expect_filled(part(range, i, 1), static_cast<std::uint8_t>(i + 1));
  }
  for (Bytes i = 0; i < kPages; i += 2) source_->map(part(range, i, 1), 0);
  for (Bytes i = 1; i < kPages; i += 2) {
    expect_filled(part(range, i, 1), static_cast<std::uint8_t>(i + 1));
  }
  // Pages that came by many calls go by one.
  source_->unmap(range);
  source_->release(range);
}

TEST_P(PageSourceContract, SinglePagesAreAskedForByNoChunk) {
  const AddressRange range = source_->reserve(pages(40));
  source_->map(range, 0);
  for (AddressRange chunk : chunks(range)) EXPECT_EQ(chunk.size, page_);
  EXPECT_EQ(source_->whole_chunks(range), range);
  source_->unmap(part(range, 3, 2));
  source_->unmap(part(range, 0, 3));
  source_->unmap(part(range, 5, 35));
  source_->release(range);
}

TEST_P(PageSourceContract, ChunksCoverARangeAndKeepToTheHint) {
  const AddressRange range = source_->reserve(pages(45));
  for (Bytes hint : {pages(1), pages(8), pages(20), pages(32), pages(1000)}) {
    source_->map(range, hint);
    const std::vector<AddressRange> all = chunks(range);
    EXPECT_EQ(all.back().end(), range.end());
    for (AddressRange chunk : all) {
      EXPECT_LE(chunk.size, hint);
      EXPECT_EQ(chunk.size % page_, 0U);
      // Every address of a chunk knows it.
      EXPECT_EQ(source_->chunk_size(chunk.end() - 1), chunk.size);
    }
    if (opened_.chunked) {
      const Bytes expected = hint >= pages(32) ? 1 + 1 + 5 : hint >= pages(8) ? 5 + 5 : 45;
      EXPECT_EQ(all.size(), expected) << "hint of " << hint / page_ << " pages";
    }
    fill(range, 0x3c);
    expect_filled(range, 0x3c);
    source_->unmap(range);
  }
  source_->release(range);
}

TEST_P(PageSourceContract, WholeChunksLeavesOutWhatIsCutThrough) {
  const AddressRange range = source_->reserve(pages(45));
  source_->map(range, pages(32));
  const std::vector<AddressRange> all = chunks(range);
  for (Bytes first = 0; first < 45; first += 3) {
    for (Bytes count = 1; first + count <= 45; count += 5) {
      const AddressRange asked = part(range, first, count);
      AddressRange expected;
      for (AddressRange chunk : all) {
        if (chunk.begin < asked.begin || chunk.end() > asked.end()) continue;
        if (expected.empty()) expected.begin = chunk.begin;
        expected.size += chunk.size;
      }
      const AddressRange whole = source_->whole_chunks(asked);
      EXPECT_EQ(whole.size, expected.size);
      if (!expected.empty()) {
        EXPECT_EQ(whole, expected);
      }
    }
  }
  source_->unmap(range);
  source_->release(range);
}

TEST_P(PageSourceContract, UnmappingWholeChunksKeepsTheOthers) {
  const AddressRange range = source_->reserve(pages(45));
  source_->map(range, pages(32));
  fill(range, 0x42);
  const std::vector<AddressRange> all = chunks(range);
  for (std::size_t i = 0; i < all.size(); i += 2) source_->unmap(all[i]);
  for (std::size_t i = 1; i < all.size(); i += 2) {
    expect_filled(all[i], 0x42);
    EXPECT_EQ(source_->chunk_size(all[i].begin), all[i].size);
  }
  for (std::size_t i = 0; i < all.size(); i += 2) source_->map(all[i], pages(8));
  source_->unmap(range);
  source_->release(range);
}

TEST_P(PageSourceContract, MovedPagesServeAtTheirNewAddress) {
  const AddressRange range = source_->reserve(pages(100));
  const AddressRange from = part(range, 2, 45);
  const AddressRange to = part(range, 50, 45);
  source_->map(from, pages(32));
  fill(from, 0x11);
  const std::vector<AddressRange> before = chunks(from);
  source_->move(from, to);
  const std::vector<AddressRange> after = chunks(to);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].size, after[i].size);
  fill(to, 0x22);
  expect_filled(to, 0x22);
  // The old addresses are free for new pages.
  source_->map(from, 0);
  fill(from, 0x33);
  expect_filled(to, 0x22);
  expect_filled(from, 0x33);
  source_->unmap(from);
  // And a part that is whole chunks moves alone, into another reservation as well.
  const AddressRange other = source_->reserve(pages(45));
  source_->move(after[0], {other.begin, after[0].size});
  fill({other.begin, after[0].size}, 0x44);
  for (std::size_t i = 1; i < after.size(); ++i) expect_filled(after[i], 0x22);
  source_->unmap({other.begin, after[0].size});
  source_->unmap({after[0].end(), to.size - after[0].size});
  source_->release(other);
  source_->release(range);
}

TEST_P(PageSourceContract, UnmappingReturnsMemoryAtOnce) {
  if (!opened_.used) GTEST_SKIP() << "the system does not count this source's memory";
  const Bytes size = MiB(128);
  const AddressRange range = source_->reserve(2 * size);
  const AddressRange half{range.begin, size};
  source_->map(half, pages(32));
  const Bytes before = used();
  fill_all(half);
  const Bytes filled = used();
  source_->move(half, {half.end(), size});
  fill_all({half.end(), size});
  const Bytes moved = used();
  source_->unmap({half.end(), size});
  const Bytes after = used();
  EXPECT_LE(filled, before + size + opened_.used_slack);
  EXPECT_LE(moved, filled + opened_.used_slack) << "moving took memory";
  EXPECT_GE(filled + opened_.used_slack, after + size) << "less than all came back";
  source_->release(range);
}

TEST_P(PageSourceContract, AMapThatFailsChangesNothing) {
  if (!opened_.make_shortage) GTEST_SKIP() << "no way to make this source short of memory";
  const AddressRange kept = source_->reserve(pages(4));
  source_->map(kept, 0);
  fill(kept, 0x77);
  AddressRange range;
  const Bytes before = opened_.used ? used() : 0;
  {
    const OpenedSource::Shortage shortage = opened_.make_shortage();
    range = source_->reserve(shortage.bytes);
    EXPECT_THROW(source_->map(range, pages(32)), OutOfPages);
    EXPECT_THROW(source_->map(range, GiB(1)), OutOfPages);
  }
  if (opened_.used) {
    EXPECT_LE(used(), before + opened_.used_slack);
  }
  expect_filled(kept, 0x77);
  // Nothing of it is mapped: any part of it can be.
  source_->map(part(range, 0, 3), 0);
  source_->map(part(range, 3, 8), pages(8));
  fill(part(range, 0, 11), 0x78);
  expect_filled(part(range, 0, 11), 0x78);
  source_->unmap(part(range, 0, 11));
  source_->release(range);
  source_->unmap(kept);
  source_->release(kept);
}

TEST_P(PageSourceContract, ThreadsWorkOnDisjointRanges) {
  constexpr Bytes kThreads = 4;
  constexpr Bytes kPages = 24;
  const AddressRange range = source_->reserve(pages(kThreads * kPages));
  std::vector<std::thread> threads;
  for (Bytes t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const AddressRange mine = part(range, t * kPages, kPages);
      const auto value = static_cast<std::uint8_t>(t + 1);
      for (int i = 0; i < 20; ++i) {
        source_->map(part(mine, 0, 10), pages(8));
        fill(part(mine, 0, 10), value);
        source_->move(part(mine, 0, 8), part(mine, 12, 8));
        fill(part(mine, 12, 8), value);
        expect_filled(part(mine, 8, 2), value);
        expect_filled(part(mine, 12, 8), value);
        EXPECT_EQ(source_->whole_chunks(part(mine, 12, 8)), part(mine, 12, 8));
        source_->unmap(part(mine, 12, 8));
        source_->unmap(part(mine, 8, 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  source_->release(range);
}

}  // namespace plimsoll::testing
