#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/data/image/info.h>

#include "data/image/workspace.h"

struct png_struct_def;
struct png_info_def;

namespace plimsoll::image {

/// One PNG file in the hands of libpng: its errors become DataError, its memory comes from a
/// workspace. Gives rows of 8-bit channels with TensorFlow's conversions.
class PngSession {
 public:
  /// Most bytes taken from the workspace.
  static Bytes cost(const ImageInfo& info);

  /// Reads up to the pixels and sets up `channels` (1 to 4) of output. `data` and `workspace` must
  /// outlive the session.
  PngSession(std::span<const std::byte> data, const ImageInfo& info, int channels,
             Workspace& workspace);
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;
  ~PngSession();

  /// 7 for an interlaced picture, else 1: how often all rows are to be read.
  int passes() const { return passes_; }

  /// Reads the next row. In the second and later passes `row` must hold what the one before left.
  void read(std::uint8_t* row);

  /// Reads to the end of the file, once all rows were read.
  void finish();

 private:
  template <class Call>
  void guarded(Call call);
  void open(Workspace& workspace);
  void convert_to(const ImageInfo& info, int channels);
  void destroy();

  png_struct_def* png_ = nullptr;
  png_info_def* png_info_ = nullptr;
  std::span<const std::byte> data_;
  int passes_ = 1;
  std::size_t row_bytes_ = 0;
  char message_[128] = {};
};

}  // namespace plimsoll::image
