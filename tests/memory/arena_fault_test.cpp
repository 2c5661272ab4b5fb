#include "memory/arena_faults.h"

#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/host_pages.h>

namespace plimsoll::testing {
namespace {

const SourceCase kDry{"Dry", [] {
                        OpenedSource opened;
                        opened.source = make_dry_pages(KiB(64));
                        return opened;
                      }};

const SourceCase kHost{"Host", [] {
                         OpenedSource opened;
                         opened.source = make_host_pages({.page_size = KiB(64)});
                         return touchable(opened);
                       }};

INSTANTIATE_TEST_SUITE_P(Host, ArenaFaults,
                         ::testing::Values(ArenaFaultCase{.source = kDry},
                                           ArenaFaultCase{.source = kDry, .count = 3},
                                           ArenaFaultCase{.source = kHost}),
                         fault_case_name);

}  // namespace
}  // namespace plimsoll::testing
