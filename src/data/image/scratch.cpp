#include <plimsoll/data/image/scratch.h>

#include <plimsoll/memory/heap.h>

namespace plimsoll::image {

void* HeapScratch::allocate(Bytes bytes) { return heap_.allocate(bytes); }

void HeapScratch::free(void* pointer) noexcept { heap_.free(pointer); }

}  // namespace plimsoll::image
