#include <gtest/gtest.h>

#include <plimsoll/memory/heap.h>
#include <plimsoll/memory/host_pages.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

TEST(ImageHeap, DecodingIsChargedToItsBudgetAndGivenBack) {
  const Budget root = Budget::root("cpu:0", MiB(64));
  Arena arena(make_host_pages({.page_size = KiB(64)}), root);
  Heap heap(arena, root.account(Tag::decode, "jpeg"));
  HeapScratch scratch(heap);
  const File file = make_jpeg({.width = 300, .height = 200, .progressive = true});
  const LoadOptions options{.height = 32, .width = 32};
  std::vector<float> out(32 * 32 * 3);
  const ImageInfo info = probe(file);
  load(file, info, options, scratch, out.data());
  EXPECT_EQ(out, loaded(file, options));
  EXPECT_EQ(heap.live(), 0U);
  const Bytes stated = plan_load(info, options).scratch;
  EXPECT_GE(arena.stats().live_peak, stated);
  EXPECT_LE(arena.stats().live_peak, stated + KiB(4));
}

TEST(ImageHeap, APictureThatDoesNotFitTheBudgetIsOutOfMemory) {
  const Budget root = Budget::root("cpu:0", MiB(4));
  Arena arena(make_host_pages({.page_size = KiB(64)}), root);
  Heap heap(arena, root.account(Tag::decode, "jpeg"));
  HeapScratch scratch(heap);
  const File file = make_jpeg({.width = 2000, .height = 1500, .progressive = true});
  const LoadOptions options{.height = 32, .width = 32};
  std::vector<float> out(32 * 32 * 3);
  EXPECT_THROW(load(file, probe(file), options, scratch, out.data()), OutOfMemory);
  EXPECT_EQ(heap.live(), 0U);
  // The same picture in one pass does.
  const File rows = make_jpeg({.width = 2000, .height = 1500});
  EXPECT_NO_THROW(load(rows, probe(rows), options, scratch, out.data()));
}

}  // namespace
}  // namespace plimsoll::image::testing
