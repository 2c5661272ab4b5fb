#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::plan {

/// Memory that is needed for a known time. Two buffers may share bytes unless both are live at
/// some moment.
struct Buffer {
  Bytes size = 0;
  std::int64_t lower = 0;  ///< live in [lower, upper), in any unit
  std::int64_t upper = 0;
  Bytes alignment = 1;  ///< of its offset, a power of two; PlacementOptions::alignment, if larger
};

struct PlacementOptions {
  /// The height that is enough: the search stops there. None: the least height is sought.
  std::optional<Bytes> capacity = {};
  /// The search ends after this; heuristics always run to their end.
  std::chrono::milliseconds time_limit = std::chrono::seconds(10);
  /// Every offset is a multiple of this power of two.
  Bytes alignment = 256;
  /// Random choices of the search derive from it.
  std::uint64_t seed = 1;
};

struct Placement {
  std::vector<Bytes> offsets;   ///< of each buffer, in the order given
  Bytes height = 0;             ///< the largest offset + size
  Bytes lower_bound = 0;        ///< no placement is lower
  bool proven_optimal = false;  ///< height is the least there is, by a bound or a complete search
  bool out_of_time = false;     ///< the search was ended by its time limit
};

/// Gives each buffer an offset such that no two that are live together overlap, and the height is
/// small: heuristics first, then search where they leave a gap to the lower bound.
///
/// The same input gives the same result on every machine, unless `out_of_time` is set: work is
/// counted in steps, and only the time limit looks at a clock.
///
/// A capacity that could not be met is an ordinary result with a larger height. Buffers of no size
/// or no lifetime get offset 0. Throws InvalidArgument for an `upper` below `lower`, an alignment
/// that is not a power of two up to 2^32, and sizes that exceed 2^61 in all, rounding included.
/// Thread-safe; uses one thread.
Placement place(std::span<const Buffer> buffers, const PlacementOptions& options = {});

/// The heuristics alone, for use in inner loops: a few milliseconds for 2,000 buffers.
/// Deterministic; options.time_limit and seed are not used. Throws what `place` throws.
Placement place_fast(std::span<const Buffer> buffers, const PlacementOptions& options = {});

/// The largest sum of sizes live at one time, each rounded up to the least alignment of any buffer.
/// No placement is lower. Throws what `place` throws.
Bytes placement_lower_bound(std::span<const Buffer> buffers, Bytes alignment = 1);

/// Throws InternalError naming the buffers if `placement` lets two overlap in time and bytes, has
/// an offset that is not aligned, or a height that a buffer exceeds.
void check_placement(std::span<const Buffer> buffers, const Placement& placement,
                     Bytes alignment = 1);

/// Buffers with the names that a file gives them.
struct BufferList {
  std::vector<std::string> ids;
  std::vector<Buffer> buffers;
};

/// Reads a buffer list (`id,lower,upper,size`) by the rules of `read_trace`: columns in any order,
/// others ignored. Throws DataError with the file, the line and the column.
BufferList read_buffer_list(const std::string& path);

/// The same from text; `name` stands for the file in messages.
BufferList parse_buffer_list(std::string_view text, std::string_view name);

/// Writes `id,lower,upper,size,offset`, buffers in their order; replaces what `path` had. Throws
/// Error naming it if that fails.
void write_placement(const std::string& path, const BufferList& list, const Placement& placement);

}  // namespace plimsoll::plan
