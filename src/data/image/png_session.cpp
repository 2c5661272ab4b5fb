#include "data/image/png_session.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <png.h>

#include <plimsoll/base/error.h>

namespace plimsoll::image {
namespace {

// Chunks that do not change a pixel and could take any amount of memory are stepped over; what is
// not listed here is small.
constexpr png_byte kSkipped[] = "iCCP\0tEXt\0zTXt\0iTXt\0sPLT\0eXIf\0pCAL\0sCAL\0hIST\0tIME";
constexpr int kSkippedCount = 10;

void ignore_warning(png_structp, png_const_charp) {}

}  // namespace

// libpng reports errors by calling the error function, which must not return: it jumps back here.
// Between the two there are only C frames and callbacks that hold no objects to destroy.
template <class Call>
void PngSession::guarded(Call call) {
  if (setjmp(png_jmpbuf(png_)) != 0) throw DataError(std::string("[png] ") + message_);
  call();
}

Bytes PngSession::cost(const ImageInfo& info) {
  // zlib's window and state, libpng's structures, palette, input buffer.
  Bytes total = KiB(80);
  // Gamma tables, which conversion from 16-bit colour to gray may need.
  if (info.bits == 16) total += KiB(512);
  // The row and the one before, at the most bits per pixel that any conversion makes.
  const Bytes row = (static_cast<Bytes>(info.width) + 8) * 8 + 256;
  return total + 2 * Workspace::cost(row);
}

PngSession::PngSession(std::span<const std::byte> data, const ImageInfo& info, int channels,
                       Workspace& workspace)
    : data_(data) {
  open(workspace);
  try {
    convert_to(info, channels);
  } catch (...) {
    destroy();
    throw;
  }
}

void PngSession::open(Workspace& workspace) {
  const auto fail = [](png_structp png, png_const_charp text) {
    auto& self = *static_cast<PngSession*>(png_get_error_ptr(png));
    std::strncpy(self.message_, text, sizeof self.message_ - 1);
    png_longjmp(png, 1);
  };
  const auto allocate = [](png_structp png, png_alloc_size_t bytes) -> png_voidp {
    return static_cast<Workspace*>(png_get_mem_ptr(png))->take(bytes);
  };
  const auto keep = [](png_structp, png_voidp) {};
  png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, fail, ignore_warning, &workspace,
                                  allocate, keep);
  if (png_ == nullptr) throw DataError("[png] libpng cannot be started");
}

void PngSession::convert_to(const ImageInfo& info, int channels) {
  guarded([this] {
    png_info_ = png_create_info_struct(png_);
    if (png_info_ == nullptr) png_error(png_, "out of memory");
    png_set_read_fn(png_, this, [](png_structp png, png_bytep out, std::size_t count) {
      auto& self = *static_cast<PngSession*>(png_get_io_ptr(png));
      if (count > self.data_.size()) png_error(png, "the file is cut off");
      std::memcpy(out, self.data_.data(), count);
      self.data_ = self.data_.subspan(count);
    });
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kSkipped, kSkippedCount);
    // Probing has checked the size already.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png_, png_info_);
  });
  if (static_cast<int>(png_get_image_width(png_, png_info_)) != info.width ||
      static_cast<int>(png_get_image_height(png_, png_info_)) != info.height ||
      png_get_bit_depth(png_, png_info_) != info.bits ||
      png_get_color_type(png_, png_info_) != info.png_colour) {
    throw DataError("[png] the header contradicts itself");
  }
  // The order and choice of conversions are TensorFlow's.
  guarded([this, &info, channels] {
    const bool stored_alpha = (info.png_colour & PNG_COLOR_MASK_ALPHA) != 0;
    const bool transparency = png_get_valid(png_, png_info_, PNG_INFO_tRNS) != 0;
    if (channels % 2 == 0) {
      if (!stored_alpha && transparency) {
        png_set_tRNS_to_alpha(png_);
      } else if (!stored_alpha) {
        png_set_add_alpha(png_, (1U << info.bits) - 1, PNG_FILLER_AFTER);
      }
    } else if (stored_alpha || transparency) {
      png_set_strip_alpha(png_);
    }
    if (info.bits > 8) png_set_strip_16(png_);
    png_set_packing(png_);
    passes_ = png_set_interlace_handling(png_);
    if (info.png_colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    const bool gray = (info.png_colour & PNG_COLOR_MASK_COLOR) == 0;
    if (gray && info.bits < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels < 3 && !gray) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
    if (channels >= 3 && gray) png_set_gray_to_rgb(png_);
    png_read_update_info(png_, png_info_);
    row_bytes_ = png_get_rowbytes(png_, png_info_);
  });
  if (row_bytes_ != static_cast<std::size_t>(info.width) * static_cast<std::size_t>(channels)) {
    throw DataError("[png] the file cannot be decoded to " + std::to_string(channels) +
                    " channels");
  }
}

PngSession::~PngSession() { destroy(); }

void PngSession::destroy() {
  png_destroy_read_struct(&png_, png_info_ != nullptr ? &png_info_ : nullptr, nullptr);
}

void PngSession::read(std::uint8_t* row) {
  guarded([this, row] { png_read_row(png_, row, nullptr); });
}

void PngSession::finish() {
  guarded([this] { png_read_end(png_, nullptr); });
}

}  // namespace plimsoll::image
