#pragma once

#include <cstddef>
#include <string_view>

namespace plimsoll::data {

/// Rows of a batch that is being filled, offered to a source of small elements: a source that
/// writes its components there makes no tensors that would only be copied.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Begins the row of element `position` of the block that is being pulled; whatever was written
  /// for that element before is void. Where it returns false, the element is made as usual. Throws
  /// OutOfMemory where the batch that the consumer waits for has no room.
  virtual bool begin_row(std::size_t position) = 0;
  /// Memory for component `c` of the row, which is of a fixed size; not aligned.
  virtual std::byte* fixed(std::size_t c) = 0;
  /// Component `c` of the row is this byte string, which is copied. Throws OutOfMemory.
  virtual void text(std::size_t c, std::string_view text) = 0;
};

/// A stage that can write its elements to a sink. An element without components stands for one
/// that it has written.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Called once, before the first element; the sink outlives the stage's elements.
  virtual void write_rows_to(RowSink& sink) = 0;
};

}  // namespace plimsoll::data
