#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cstdio>

#include <jpeglib.h>

#include <plimsoll/data/image/scratch.h>

// What the benchmarks of pictures measure against.

namespace plimsoll::bench {

/// libjpeg decodes `file` into one row, over and over: the least that decoding in full can cost.
inline void decode_alone(std::span<const std::byte> file, J_DCT_METHOD dct,
                         std::vector<unsigned char>& row) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_RGB;
  cinfo.dct_method = dct;
  jpeg_start_decompress(&cinfo);
  row.resize(std::size_t{cinfo.output_width} * 3);
  JSAMPROW target = row.data();
  while (cinfo.output_scanline < cinfo.output_height) jpeg_read_scanlines(&cinfo, &target, 1);
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
}

/// One block that grows and is given out again and again.
class ReusedScratch final : public image::Scratch {
 public:
  void* allocate(Bytes bytes) override {
    if (block_.size() < bytes) block_.resize(bytes);
    return block_.data();
  }
  void free(void*) noexcept override {}

 private:
  std::vector<std::byte> block_;
};

}  // namespace plimsoll::bench
