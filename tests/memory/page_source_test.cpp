#include "memory/page_source_contract.h"

#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <string>

#include <plimsoll/base/system.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/host_pages.h>

namespace plimsoll::testing {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kShadowed = true;  // a sanitizer's own memory follows what the program touches
#else
constexpr bool kShadowed = false;
#endif

/// Bytes of this process that count for RLIMIT_DATA.
Bytes data_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    Bytes kib = 0;
    if (word == "VmData:" && status >> kib) return KiB(kib);
  }
  return 0;
}

/// Lets the kernel refuse writable memory beyond what there is and a little for the test itself.
OpenedSource::Shortage limit_data() {
  rlimit old{};
  getrlimit(RLIMIT_DATA, &old);
  rlimit tight = old;
  tight.rlim_cur = data_bytes() + MiB(64);
  if (setrlimit(RLIMIT_DATA, &tight) != 0) ADD_FAILURE() << "no RLIMIT_DATA here";
  return {MiB(256), std::shared_ptr<void>(nullptr, [old](void*) { setrlimit(RLIMIT_DATA, &old); })};
}

SourceCase host(const std::string& name, HostPagesOptions options) {
  return {name, [options] {
            OpenedSource opened;
            opened.source = make_host_pages(options);
            if (!kShadowed) opened.used = [] { return resident_bytes(); };
            opened.used_slack = MiB(6);  // the kernel counts in batches per processor
            opened.make_shortage = limit_data;
            return touchable(opened);
          }};
}

SourceCase dry(const std::string& name, Bytes page) {
  return {name, [page] {
            OpenedSource opened;
            opened.source = make_dry_pages(page);
            opened.chunked = true;
            return opened;
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Host, PageSourceContract,
    ::testing::Values(host("Huge2MiB", {}), host("Small2MiB", {.huge_pages = false}),
                      host("Populated2MiB", {.populate = true}),
                      host("Populated64KiB", {.page_size = KiB(64), .populate = true}),
                      host("Pages4KiB", {.page_size = KiB(4)}),
                      host("Pages64KiB", {.page_size = KiB(64)}),
                      host("Pages4MiB", {.page_size = MiB(4)})),
    case_name);

INSTANTIATE_TEST_SUITE_P(Dry, PageSourceContract,
                         ::testing::Values(dry("Pages2MiB", MiB(2)), dry("Pages4KiB", KiB(4))),
                         case_name);

INSTANTIATE_TEST_SUITE_P(
    Faulty, PageSourceContract,
    ::testing::Values(SourceCase{"DisarmedHost",
                                 [] {
                                   OpenedSource opened;
                                   opened.source = std::make_shared<FaultyPages>(make_host_pages());
                                   return touchable(opened);
                                 }},
                      SourceCase{"DisarmedDry",
                                 [] {
                                   OpenedSource opened;
                                   opened.source = std::make_shared<FaultyPages>(make_dry_pages());
                                   opened.chunked = true;
                                   return opened;
                                 }}),
    case_name);

/// Mappings of the kernel's that lie in `range`.
int mappings(AddressRange range) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const std::uintptr_t begin = std::stoull(line, &dash, 16);
    const std::uintptr_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
    if (begin < range.end() && end > range.begin) ++count;
  }
  return count;
}

TEST(HostPages, RefusesPageSizesThatCannotBe) {
  for (Bytes size : {Bytes{0}, Bytes{1}, KiB(2), KiB(12), MiB(3), GiB(2), kUnlimited}) {
    EXPECT_THROW((void)make_host_pages({.page_size = size}), InvalidArgument) << size;
  }
}

TEST(HostPages, MappingInAnyOrderDoesNotUseUpTheKernelsMappings) {
  constexpr Bytes kPages = 4000;
  const auto source = make_host_pages({.page_size = KiB(4)});
  const AddressRange range = source->reserve(KiB(4) * kPages);
  std::vector<Bytes> order(kPages);
  for (Bytes i = 0; i < kPages; ++i) order[i] = i;
  std::mt19937 random(3);  // NOLINT: the same order every time
  std::shuffle(order.begin(), order.end(), random);
  for (Bytes i : order) {
    const AddressRange page{range.begin + KiB(4) * i, KiB(4)};
    source->map(page, 0);
    *reinterpret_cast<volatile char*>(page.begin) = 1;
  }
  EXPECT_LE(mappings(range), 3);
  std::shuffle(order.begin(), order.end(), random);
  for (Bytes i : order) source->unmap({range.begin + KiB(4) * i, KiB(4)});
  EXPECT_LE(mappings(range), 3);
  source->release(range);
}

TEST(HostPages, TouchingUnmappedMemoryFaults) {
  const auto source = make_host_pages();
  const AddressRange range = source->reserve(MiB(4));
  auto* first = reinterpret_cast<volatile char*>(range.begin);
  EXPECT_DEATH(*first = 1, "");
  source->map(range, 0);
  *first = 1;
  source->unmap(range);
  EXPECT_DEATH(*first = 1, "");
  source->release(range);
}

TEST(HostPages, PopulatedMemoryIsTakenWhenMapped) {
  if (kShadowed) GTEST_SKIP() << "the sanitizer's memory counts, too";
  const auto source = make_host_pages({.populate = true});
  const AddressRange range = source->reserve(MiB(128));
  const Bytes before = resident_bytes();
  source->map(range, 0);
  EXPECT_GE(resident_bytes() + MiB(6), before + MiB(128));
  source->unmap(range);
  source->release(range);
}

TEST(DryPages, ChecksItsCallers) {
  const auto source = make_dry_pages(KiB(4));
  const AddressRange range = source->reserve(KiB(4) * 64);
  const auto pages = [&](Bytes first, Bytes count) {
    return AddressRange{range.begin + KiB(4) * first, KiB(4) * count};
  };
  source->map(pages(8, 32), KiB(4) * 32);
  EXPECT_THROW(source->map(pages(39, 2), 0), InternalError) << "mapped twice";
  EXPECT_THROW(source->map(pages(60, 8), 0), InternalError) << "not reserved";
  EXPECT_THROW(source->map({range.begin + 1, KiB(4)}, 0), InternalError) << "not aligned";
  EXPECT_THROW(source->unmap(pages(0, 2)), InternalError) << "not mapped";
  EXPECT_THROW(source->unmap(pages(8, 8)), InternalError) << "part of a chunk";
  EXPECT_THROW(source->unmap(pages(8, 33)), InternalError) << "more than is mapped";
  EXPECT_THROW(source->move(pages(8, 8), pages(48, 8)), InternalError) << "part of a chunk";
  EXPECT_THROW(source->move(pages(8, 32), pages(30, 32)), InternalError) << "onto itself";
  EXPECT_THROW(source->release(range), InternalError) << "mapped";
  EXPECT_THROW(source->release(pages(0, 8)), InternalError) << "not the whole range";
  EXPECT_THROW((void)source->chunk_size(range.begin), InternalError) << "not mapped";
  EXPECT_THROW((void)source->whole_chunks(pages(0, 16)), InternalError) << "not mapped";
  // None of that changed anything.
  EXPECT_EQ(source->whole_chunks(pages(8, 32)), pages(8, 32));
  source->unmap(pages(8, 32));
  source->release(range);
}

TEST(DryPages, RefusesPageSizesThatCannotBe) {
  EXPECT_THROW((void)make_dry_pages(0), InvalidArgument);
  EXPECT_THROW((void)make_dry_pages(3000), InvalidArgument);
}

TEST(FaultyPages, FailsTheChosenCallAndPassesNothingOn) {
  const auto source = std::make_shared<FaultyPages>(make_dry_pages());
  const AddressRange range = source->reserve(MiB(8));
  EXPECT_EQ(source->calls(), 1U);
  source->fail_at(2, 2);
  source->map({range.begin, MiB(2)}, 0);
  EXPECT_THROW(source->unmap({range.begin, MiB(2)}), OutOfPages);
  EXPECT_THROW(source->release(range), OutOfPages);
  EXPECT_EQ(source->faults(), 2U);
  EXPECT_EQ(source->calls(), 4U);
  // The upstream saw neither: the page is mapped still.
  EXPECT_EQ(source->chunk_size(range.begin), MiB(2));
  source->unmap({range.begin, MiB(2)});
  source->fail_at(1);
  source->fail_at(0);
  source->release(range);
}

TEST(DryPages, AnyAmountCostsTheSame) {
  const auto pages = make_dry_pages(KiB(4));
  const AddressRange all = pages->reserve(GiB(1) << 28);
  const AddressRange low{all.begin, all.size / 2};
  const AddressRange high{low.end(), low.size};
  pages->map(low, 0);
  EXPECT_EQ(pages->chunk_size(low.end() - 1), KiB(4));
  pages->unmap({low.begin + KiB(4), KiB(4)});
  EXPECT_THROW(pages->unmap(low), InternalError);
  EXPECT_THROW(pages->map(low, 0), InternalError);
  pages->map({low.begin + KiB(4), KiB(4)}, 0);
  pages->move(low, high);
  EXPECT_THROW(pages->release(all), InternalError);
  pages->unmap(high);
  pages->release(all);
}

}  // namespace
}  // namespace plimsoll::testing
