#pragma once

#include <array>
#include <cstdint>
#include <cstdio>

#include <jpeglib.h>

namespace plimsoll::image {

/// A Huffman table of a baseline JPEG, made for decoding. One entry tells all about a symbol and
/// the bits behind it, so that the next look-up waits for one load and one shift only.
class JpegHuffman {
 public:
  /// Bits 0..7: length of code and value together; 8..15: 64 less that; 16..23: of the value;
  /// 24..31: how many coefficients further its own is.
  using Entry = std::uint32_t;

  static constexpr int kLookBits = 10;
  /// Coefficients that are jumped over at the end of a block, and at a code that no regular file
  /// has: more than a run can be, so that the position says what happened.
  static constexpr int kEndOfBlock = 80;
  static constexpr int kIrregular = 160;
  /// The same at a code that is longer than kLookBits, whose symbol look_up_long() has; again more.
  static constexpr int kLong = 224;

  /// False if the table is broken or holds what is not for baseline files.
  bool make(const JHUFF_TBL& table, bool dc);

  /// The symbol at the top of `bits`, of which only the first kLookBits count.
  Entry look_up(std::uint64_t bits) const { return look_[bits >> (64 - kLookBits)]; }

  Entry look_up_long(std::uint64_t bits) const;

 private:
  std::array<Entry, std::size_t{1} << kLookBits> look_;
  /// Per length: one past the last code, in 16 bits, and what to add to a code for its symbol.
  std::array<std::uint32_t, 17> limit_;
  std::array<int, 17> first_;
  std::array<Entry, 256> symbols_;
};

}  // namespace plimsoll::image
