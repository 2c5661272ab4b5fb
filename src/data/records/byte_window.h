#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/data/byte_source.h>

namespace plimsoll::data {

/// Bytes of a source seen through a buffer of fixed size, mostly in order: for going through a file
/// to find its records. What is stepped over is not read.
class ByteWindow {
 public:
  static constexpr Bytes kBuffer = KiB(256);

  explicit ByteWindow(const ByteSource& source)
      : source_(source), size_(source.stamp().size), buffer_(std::min(kBuffer, size_)) {}

  const ByteSource& source() const { return source_; }
  Bytes size() const { return size_; }

  /// Bytes from `offset` on: `wanted` (at most kBuffer) or all that are left; more where the buffer
  /// has them. Valid until the next call.
  std::span<const std::byte> at(Bytes offset, Bytes wanted) {
    if (offset >= size_) return {};
    wanted = std::min({wanted, kBuffer, size_ - offset});
    if (offset < base_ || offset + wanted > base_ + have_) {
      base_ = offset;
      have_ = source_.read(buffer_.data(), std::min<Bytes>(buffer_.size(), size_ - offset), offset);
    }
    return std::span(buffer_).subspan(offset - base_, base_ + have_ - offset);
  }

 private:
  const ByteSource& source_;
  Bytes size_;
  std::vector<std::byte> buffer_;
  Bytes base_ = 0;
  Bytes have_ = 0;
};

}  // namespace plimsoll::data
