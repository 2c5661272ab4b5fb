#pragma once

#include <csetjmp>
#include <cstddef>
#include <span>

#include "data/image/jpeg_memory.h"

namespace plimsoll::image {

/// Samples along an edge of a block after scaled decoding: the smallest of all components, and of
/// one. Debian and Ubuntu build libjpeg-turbo with different interface versions.
#if JPEG_LIB_VERSION >= 70
inline int block_size(const jpeg_decompress_struct& c) { return c.min_DCT_v_scaled_size; }
inline int block_size(const jpeg_component_info& c) { return c.DCT_v_scaled_size; }
#else
inline int block_size(const jpeg_decompress_struct& c) { return c.min_DCT_scaled_size; }
inline int block_size(const jpeg_component_info& c) { return c.DCT_scaled_size; }
#endif

/// One JPEG file in the hands of libjpeg: its errors become DataError, its memory comes from a
/// workspace. As in TensorFlow, running out of input is an error, and damage that libjpeg only
/// warns of is not.
class JpegSession {
 public:
  /// Reads the header. Throws DataError also if libjpeg reads another picture from it than `info`
  /// says. `data` and `workspace` must outlive the session.
  JpegSession(std::span<const std::byte> data, const ImageInfo& info, Workspace& workspace);
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;
  ~JpegSession();

  /// For setting parameters before start(), and for reading what libjpeg made of them.
  jpeg_decompress_struct& info() { return state_.cinfo; }

  /// Sets the sizes of the output and the planes from the parameters.
  void calculate_dimensions();
  void start();
  /// Reads up to `count` rows; returns how many, at least one.
  int read_rows(JSAMPARRAY rows, int count);
  /// Reads the next strip of planes, all of it.
  void read_planes(JSAMPIMAGE planes);
  /// Reads to the end of the file, once all rows were read.
  void finish();

 private:
  // libjpeg keeps pointers into this.
  struct State {
    jpeg_decompress_struct cinfo{};
    jpeg_error_mgr errors{};
    jpeg_source_mgr source{};
    jpeg_progress_mgr progress{};
    JpegMemory memory{};
    jpeg_memory_mgr* own_memory = nullptr;
    std::jmp_buf jump;
    int result = 0;
    char message[JMSG_LENGTH_MAX] = {};
  };
  template <class Call>
  void guarded(Call call);
  void connect(std::span<const std::byte> data);
  void check_header(const ImageInfo& info);
  void destroy();

  State state_;
};

}  // namespace plimsoll::image
