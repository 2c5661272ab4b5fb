#pragma once

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <plimsoll/data/image/info.h>

#include "data/image/workspace.h"

namespace plimsoll::image {

/// libjpeg's memory manager on a Workspace. The library offers no hook for its own manager, but
/// calls it only through cinfo.mem, so that is replaced right after the decoder is created; what it
/// took until then (under 4 KiB, from malloc) stays outside.
///
/// Pools are not freed one by one: a decoder serves one picture, and the workspace goes as a whole.
struct JpegMemory {
  jpeg_memory_mgr methods;  // first: libjpeg holds a pointer to it
  Workspace* workspace;
  jvirt_barray_ptr arrays;  // requested, not realised
};

/// Fills `memory` and makes `cinfo` use it. Returns the manager that was there, to be put back
/// before the decoder is destroyed.
jpeg_memory_mgr* use_workspace(j_common_ptr cinfo, JpegMemory& memory, Workspace& workspace);

/// Most bytes that libjpeg takes from the workspace for this picture. `rows`: with its buffers for
/// upsampling and colour conversion, which raw planes do without.
Bytes jpeg_memory_bound(const ImageInfo& info, bool rows);

}  // namespace plimsoll::image
