#include "data/image/jpeg_memory.h"

#include <algorithm>
#include <cstring>

// jpeglib.h needs cstdio's FILE before it, and jerror.h needs jpeglib.h.
#include <jerror.h>

// libjpeg passes pointers to this around and leaves its meaning to the memory manager.
struct jvirt_barray_control {
  JBLOCKARRAY rows;
  JDIMENSION blocks_per_row;
  JDIMENSION row_count;
  boolean pre_zero;
  jvirt_barray_ptr next;
};

namespace plimsoll::image {
namespace {

JpegMemory& memory_of(j_common_ptr cinfo) { return *reinterpret_cast<JpegMemory*>(cinfo->mem); }

// Never returns null: error_exit jumps out.
void* allocate(j_common_ptr cinfo, int, std::size_t bytes) {
  void* result = memory_of(cinfo).workspace->take(bytes);
  if (result == nullptr) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
  return result;
}

// SIMD upsampling writes rows in whole pairs of vectors.
constexpr std::size_t kSampleRowUnit = 64;

JSAMPARRAY allocate_samples(j_common_ptr cinfo, int pool, JDIMENSION width, JDIMENSION rows) {
  auto** result = static_cast<JSAMPARRAY>(allocate(cinfo, pool, rows * sizeof(JSAMPROW)));
  const std::size_t stride = align_up(width, kSampleRowUnit);
  auto* row = static_cast<JSAMPROW>(allocate(cinfo, pool, stride * rows));
  for (JDIMENSION i = 0; i < rows; ++i, row += stride) result[i] = row;
  return result;
}

JBLOCKARRAY allocate_blocks(j_common_ptr cinfo, int pool, JDIMENSION width, JDIMENSION rows) {
  auto** result = static_cast<JBLOCKARRAY>(allocate(cinfo, pool, rows * sizeof(JBLOCKROW)));
  auto* row =
      static_cast<JBLOCKROW>(allocate(cinfo, pool, std::size_t{width} * rows * sizeof(JBLOCK)));
  for (JDIMENSION i = 0; i < rows; ++i, row += width) result[i] = row;
  return result;
}

jvirt_sarray_ptr request_samples(j_common_ptr cinfo, int, boolean, JDIMENSION, JDIMENSION,
                                 JDIMENSION) {
  ERREXIT(cinfo, JERR_NOT_COMPILED);  // only for palettes made in two passes
  return nullptr;
}

jvirt_barray_ptr request_blocks(j_common_ptr cinfo, int pool, boolean pre_zero, JDIMENSION width,
                                JDIMENSION rows, JDIMENSION) {
  JpegMemory& memory = memory_of(cinfo);
  auto* result = static_cast<jvirt_barray_ptr>(allocate(cinfo, pool, sizeof(jvirt_barray_control)));
  *result = {nullptr, width, rows, pre_zero, memory.arrays};
  memory.arrays = result;
  return result;
}

void realize_arrays(j_common_ptr cinfo) {
  JpegMemory& memory = memory_of(cinfo);
  for (; memory.arrays != nullptr; memory.arrays = memory.arrays->next) {
    jvirt_barray_control& array = *memory.arrays;
    array.rows = allocate_blocks(cinfo, JPOOL_IMAGE, array.blocks_per_row, array.row_count);
    if (array.pre_zero && array.row_count > 0) {
      std::memset(array.rows[0], 0,
                  std::size_t{array.blocks_per_row} * array.row_count * sizeof(JBLOCK));
    }
  }
}

JSAMPARRAY access_samples(j_common_ptr cinfo, jvirt_sarray_ptr, JDIMENSION, JDIMENSION, boolean) {
  ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
  return nullptr;
}

JBLOCKARRAY access_blocks(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION first,
                          JDIMENSION count, boolean) {
  if (array->rows == nullptr || count > array->row_count || first > array->row_count - count) {
    ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
  }
  return array->rows + first;
}

void keep_pool(j_common_ptr, int) {}
void keep_all(j_common_ptr) {}

Bytes round_up(Bytes value, Bytes unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

jpeg_memory_mgr* use_workspace(j_common_ptr cinfo, JpegMemory& memory, Workspace& workspace) {
  memory.workspace = &workspace;
  memory.arrays = nullptr;
  memory.methods = {allocate,
                    allocate,
                    allocate_samples,
                    allocate_blocks,
                    request_samples,
                    request_blocks,
                    realize_arrays,
                    access_samples,
                    access_blocks,
                    keep_pool,
                    keep_all,
                    cinfo->mem->max_memory_to_use,
                    cinfo->mem->max_alloc_chunk};
  jpeg_memory_mgr* replaced = cinfo->mem;
  cinfo->mem = &memory.methods;
  return replaced;
}

Bytes jpeg_memory_bound(const ImageInfo& info, bool rows) {
  // Tables and control structures, whatever the size of the picture.
  Bytes total = KiB(48);
  Bytes max_h = 1;
  Bytes max_v = 1;
  for (int i = 0; i < info.components; ++i) {
    max_h = std::max<Bytes>(max_h, info.sampling[i].horizontal);
    max_v = std::max<Bytes>(max_v, info.sampling[i].vertical);
  }
  for (int i = 0; i < info.components; ++i) {
    const Bytes h = info.sampling[i].horizontal;
    const Bytes v = info.sampling[i].vertical;
    const Bytes blocks_wide = (info.width * h + 8 * max_h - 1) / (8 * max_h);
    const Bytes blocks_high = (info.height * v + 8 * max_v - 1) / (8 * max_v);
    if (info.several_passes) {
      const Bytes high = round_up(blocks_high, v);
      total += Workspace::cost(round_up(blocks_wide, h) * high * sizeof(JBLOCK)) +
               Workspace::cost(high * sizeof(JBLOCKROW));
    }
    if (rows) {
      // A strip of the component with two rows of context on either side, and its upsampled rows.
      // Scaled decoding doubles small blocks up to eight samples, never beyond this.
      total += Workspace::cost(align_up(blocks_wide * 8, kSampleRowUnit) * v * 10) +
               Workspace::cost(align_up(round_up(info.width, max_h), kSampleRowUnit) * max_v) +
               Workspace::cost(v * 64 * sizeof(JSAMPROW)) * 2;
    }
  }
  return total;
}

}  // namespace plimsoll::image
