#include "data/image/jpeg_huffman.h"

#include <algorithm>

namespace plimsoll::image {
namespace {

constexpr int kMaxLength = 16;
// Beyond these, coefficients of eight-bit pictures cannot be.
constexpr int kMaxDcBits = 11;
constexpr int kMaxAcBits = 10;
constexpr int kLongestRun = 15;

JpegHuffman::Entry pack(int length, int bits, int advance) {
  const int all = length + bits;
  return static_cast<JpegHuffman::Entry>(all | (64 - all) << 8 | bits << 16) |
         static_cast<JpegHuffman::Entry>(advance) << 24;
}

JpegHuffman::Entry make_entry(int symbol, int length, bool dc) {
  const int bits = dc ? symbol : symbol & 15;
  const int run = dc ? 0 : symbol >> 4;
  if (bits > (dc ? kMaxDcBits : kMaxAcBits)) return pack(length, 0, JpegHuffman::kIrregular);
  if (!dc && bits == 0 && run < kLongestRun) return pack(length, 0, JpegHuffman::kEndOfBlock);
  return pack(length, bits, run + 1);
}

}  // namespace

bool JpegHuffman::make(const JHUFF_TBL& table, bool dc) {
  look_.fill(pack(0, 0, kLong));
  std::uint32_t code = 0;
  int count = 0;
  for (int length = 1; length <= kMaxLength; ++length) {
    code <<= 1;
    first_[static_cast<std::size_t>(length)] = count - static_cast<int>(code);
    const int of_length = table.bits[length];
    if (count + of_length > 256) return false;
    // No code may be all ones.
    if (of_length > 0 && code + static_cast<std::uint32_t>(of_length) >= 1U << length) return false;
    for (int i = 0; i < of_length; ++i, ++count, ++code) {
      const int symbol = table.huffval[count];
      // As libjpeg, which refuses such a table.
      if (dc && symbol > kLongestRun) return false;
      const Entry entry = make_entry(symbol, length, dc);
      symbols_[static_cast<std::size_t>(count)] = entry;
      if (length > kLookBits) continue;
      const int shift = kLookBits - length;
      std::fill_n(look_.begin() + static_cast<std::ptrdiff_t>(code << shift), 1 << shift, entry);
    }
    limit_[static_cast<std::size_t>(length)] = code << (kMaxLength - length);
  }
  return true;
}

JpegHuffman::Entry JpegHuffman::look_up_long(std::uint64_t bits) const {
  const auto top = static_cast<std::uint32_t>(bits >> (64 - kMaxLength));
  for (int length = kLookBits + 1; length <= kMaxLength; ++length) {
    const auto l = static_cast<std::size_t>(length);
    if (top < limit_[l]) {
      const auto code = static_cast<std::ptrdiff_t>(top >> (kMaxLength - length));
      return symbols_[static_cast<std::size_t>(code + first_[l])];
    }
  }
  return pack(0, 0, kIrregular);
}

}  // namespace plimsoll::image
