#include "train/plan_heap.h"

#include <malloc.h>

#include <plimsoll/base/library_pages.h>

namespace plimsoll::train {
namespace {

/// Measured: 4.5 KiB for chains of 500 to 4,000 nodes, 5 KiB for a ResNet-50 that is planned again
/// while it runs.
constexpr Bytes kBytesPerNode = KiB(8);
/// Measured with oneDNN: 33 KiB for those of an EfficientNet, half of it code.
constexpr Bytes kBytesPerConvolution = KiB(40);
constexpr Bytes kNotCharged = MiB(4);

#ifdef __GLIBC__
/// Larger blocks of the heap are mappings of their own. Without a number, glibc raises it to the
/// largest such block that was freed; what oneDNN packs for products then comes from the heap,
/// where blocks of many sizes, each taken and freed again, left up to 20 MiB of gaps. Mapping them
/// anew takes no more processor time.
constexpr int kMappedAlone = static_cast<int>(KiB(512));
#endif

}  // namespace

Bytes charged_heap(std::int64_t nodes, std::int64_t convolutions) {
  const Bytes bytes = static_cast<Bytes>(nodes) * kBytesPerNode +
                      static_cast<Bytes>(convolutions) * kBytesPerConvolution;
  return bytes > kNotCharged ? align_up(bytes - kNotCharged, KiB(64)) : 0;
}

HeapScope::HeapScope(bool host_memory) : host_memory_(host_memory) {
#ifdef __GLIBC__
  if (host_memory) ::mallopt(M_MMAP_THRESHOLD, kMappedAlone);
#endif
}

HeapScope::~HeapScope() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  if (host_memory_) (void)release_library_pages();
}

}  // namespace plimsoll::train
