#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/fence.h>

namespace plimsoll {

/// Writes allocations and releases as RAPIDS RMM's CSV: Thread,Time,Action,Pointer,Size,Stream.
/// Thread-safe. Buffers; what is buffered is written on destruction.
class TraceRecorder {
 public:
  /// Creates or truncates `path`. Throws Error naming it if that fails.
  explicit TraceRecorder(const std::string& path);
  ~TraceRecorder();

  void allocate(std::uintptr_t address, Bytes bytes, StreamId stream);
  void release(std::uintptr_t address, Bytes bytes, StreamId stream);

  /// Writes what is buffered.
  void flush();
  /// False once writing has failed (a full disk): recording has stopped, the file is cut short.
  bool ok() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One step of a trace. Slots number the blocks, so replaying needs no look-up by pointer.
struct TraceOperation {
  std::uint32_t slot = 0;
  bool allocate = true;
  Bytes bytes = 0;
};

struct Trace {
  std::vector<TraceOperation> operations;
  std::uint32_t slots = 0;  ///< slots are below this; each is allocated again only when free
  Bytes live_peak = 0;      ///< the largest sum of sizes live at one time
  Bytes bytes_allocated = 0;
};

/// Reads a trace in RMM's format, or a buffer list (`id,lower,upper,size`: live in [lower, upper);
/// at one time, frees come before allocations). The header decides which.
///
/// Columns are found by their names; others are ignored, and so are blank lines, RMM's "allocate
/// failure" and its null pointers of no bytes. Lines end in LF or CRLF. The file is read in
/// constant space besides the trace itself (a list's ids are kept while reading).
///
/// Throws DataError with the file, the line and what is wrong: a missing column, a number that is
/// none, negative or too large, a free of a pointer that is not allocated or with another size, an
/// allocation of one that is, a line cut short, a file that ends in
/// mid-line. A last line without its newline is taken if its last field does not matter (RMM's
/// Stream), and a free may leave its size at 0.
Trace read_trace(const std::string& path);

/// The same from text; `name` stands for the file in messages.
Trace parse_trace(std::string_view text, std::string_view name);

struct ReplayResult {
  Bytes live_peak = 0;  ///< of the trace: bytes as asked for
  ArenaStats stats;     ///< of the arena, over all passes
  std::uint64_t operations = 0;
  std::int64_t total_ns = 0;  ///< spent in the arena; stats.page_ns is in it
  struct Pass {
    std::uint64_t operations = 0;
    Bytes bytes_allocated = 0;
    Bytes bytes_remapped = 0;
    std::uint64_t maps = 0;
    std::uint64_t unmaps = 0;
    Bytes mapped_peak = 0;  ///< of the arena up to the end of this pass
  };
  std::vector<Pass> passes;
};

/// Runs a trace through `arena`, `passes` times over; what is still live at the end of a pass is
/// released before the next, which is neither timed nor counted as operations. Throws what the
/// arena throws; every block is then released.
ReplayResult replay(const Trace& trace, Arena& arena, const Account& account, int passes = 1);

}  // namespace plimsoll
