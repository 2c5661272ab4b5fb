#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/memory/trace.h>

namespace plimsoll {

/// The comma-separated fields of one line.
using TraceFields = std::span<const std::string_view>;

/// Where in which file the reader is, for messages.
struct TracePosition {
  std::string file;
  std::uint64_t line = 0;

  /// Throws DataError: "[trace] FILE:LINE: WHAT".
  [[noreturn]] void fail(std::string_view what) const;
};

/// One kind of trace file: takes the lines under the header, gives the trace.
class TraceFormat {
 public:
  virtual ~TraceFormat() = default;
  /// A line, with exactly as many fields as the header. Throws DataError.
  virtual void line(TraceFields fields) = 0;
  /// True if nothing is lost when the last field of a line is cut short.
  virtual bool can_spare_last_field() const { return false; }
  virtual Trace finish() = 0;
};

/// The format whose columns `header` has; columns may come in any order, and others are ignored.
/// Null if it is not this one. `at` outlives the format.
std::unique_ptr<TraceFormat> make_rmm_format(TraceFields header, const TracePosition& at);
std::unique_ptr<TraceFormat> make_buffer_list_format(TraceFields header, const TracePosition& at);

/// Sizes, and all the bytes a trace allocates together, are at most this.
inline constexpr Bytes kTraceMaxBytes = Bytes{1} << 62;

/// The column called `name`, or -1. Throws DataError if there are two.
int find_column(TraceFields header, std::string_view name, const TracePosition& at);

/// A whole number of at most `max` in `field`. Throws DataError naming `column`.
std::uint64_t read_number(std::string_view field, std::string_view column, std::uint64_t max,
                          const TracePosition& at);

/// Throws DataError if `bytes` more would bring a trace's total beyond kTraceMaxBytes.
void check_total(Bytes allocated, Bytes bytes, const TracePosition& at);

/// `text` in quotes, cut to a readable length, with what cannot be printed as '?'.
std::string quoted(std::string_view text);

}  // namespace plimsoll
