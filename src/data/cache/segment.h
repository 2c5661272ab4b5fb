#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <plimsoll/data/spec.h>

#include "data/cache/element_codec.h"
#include "data/engine/row_sink.h"
#include "data/engine/state.h"
#include "data/sources/read_file.h"

namespace plimsoll::data {

/// What the end of a segment says of it.
struct SegmentInfo {
  std::uint64_t number = 0;    ///< which segment of the stream this is
  std::uint64_t elements = 0;  ///< in it
  std::uint64_t units = 0;     ///< elements and errors of the input up to its end
  bool last = false;           ///< the stream ends with it
  Bytes contents = 0;          ///< bytes of elements, from the beginning of the file
  StatePtr after;              ///< the position of the input after it; null where it is the last
};

/// "000007.segment"
std::string segment_name(std::uint64_t number);

/// A segment that is being written; nothing is there before finish().
class SegmentWriter {
 public:
  SegmentWriter(const std::string& folder, std::uint64_t number);
  void add(const Element& element) {
    info_.contents += write_element(file_, element);
    ++info_.elements;
  }
  Bytes bytes() const { return file_.written(); }
  /// Publishes it. Throws as OutputFile does.
  SegmentInfo finish(bool last, std::uint64_t units, StatePtr after);

 private:
  OutputFile file_;
  SegmentInfo info_;
};

/// A segment that is there: opens it and reads its end. Throws DataError beginning with its path.
struct OpenSegment {
  std::shared_ptr<const InputFile> file;
  SegmentInfo info;
};
OpenSegment open_segment(const std::string& path, std::uint64_t number);

/// A row of a batch that is being filled, for elements that are as `spec` says.
struct RowPlace {
  RowSink& sink;
  const ElementSpec& spec;
  std::size_t position = 0;  ///< of the element in the block that is being pulled
};

/// Reads the elements of a segment one after the other: small ones through a buffer, the contents
/// of large ones to where they are wanted.
class SegmentReader {
 public:
  SegmentReader(OpenSegment segment, Block buffer)
      : segment_(std::move(segment)), buffer_(std::move(buffer)) {}

  /// The next element in memory of `options`, or in a row, where one is offered and it fits: it
  /// then has no components. Throws DataError saying what is wrong at position(), without the path,
  /// and OutOfMemory; it then stays where it is.
  Element next(const Device& device, const TensorOptions& options, const RowPlace* row = nullptr);
  /// Steps over an element without looking at it.
  void skip() { at_ += size_at(); }
  /// The offset of the next element.
  Bytes position() const { return at_; }
  bool at_end() const { return at_ >= segment_.info.contents; }

 private:
  Bytes size_at();
  /// `bytes` at position(), in the buffer, which is large enough.
  std::span<const std::byte> buffered(Bytes bytes);
  /// Contents at `from`, `bytes` of them, to `to`; returns their checksum, which goes on from
  /// `crc`.
  std::uint32_t read_to(void* to, Bytes bytes, Bytes from, std::uint32_t crc);
  Element read_parts(const ElementOutline& outline, const Device& device,
                     const TensorOptions& options, const RowPlace* row);

  OpenSegment segment_;
  Block buffer_;
  Bytes at_ = 0;
  Bytes base_ = 0;  ///< what the buffer holds is [base_, base_ + have_)
  Bytes have_ = 0;
  Bytes last_ = 0;  ///< bytes of the element read last
};

}  // namespace plimsoll::data
