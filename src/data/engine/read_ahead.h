#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "data/engine/engine.h"
#include "data/engine/node.h"

namespace plimsoll::data {

/// Large elements of a source by index, read by the pipeline's threads before they are asked for:
/// runs of a few, one task each. Where memory is short there are none, and the stage reads for
/// itself. Used on the strand.
class ReadAhead {
 public:
  /// Consecutive positions that one task reads.
  struct Run {
    std::int64_t first = 0;             ///< position
    std::vector<std::int64_t> indices;  ///< of the source
    Bytes bytes = 0;
    /// Shorter ones are not worth a task.
    static constexpr Bytes kLeast = KiB(64);
  };

  /// `keep` owns `source`.
  ReadAhead(NodePtr keep, const IndexedSource& source, Engine& engine);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() { clear(); }

  /// Forgets everything; the next position may be any.
  void clear();
  /// True if another run may begin while the consumer is at `position`.
  bool has_room(std::int64_t position) const;
  /// Where a run ends that several elements fill: every run wakes the consumer, which takes a
  /// thread's place for a moment, so that longer ones are better where there is memory for them.
  Bytes most_bytes() const;
  /// The first position that no run has, `position` or after it.
  std::int64_t end(std::int64_t position) const;
  /// Has a thread read the run, which begins at end(). False where memory is short.
  bool begin(Run run);
  /// Positions from `position` on that no run has, up to the first that one has.
  std::int64_t before_next(std::int64_t position) const;
  /// Appends elements from `position` on, `max` at most. `pending`: a thread is reading the first;
  /// `end`: the stage has to read it, as no run has it or its run failed there.
  Pull take(std::int64_t position, ElementBlock& out, std::size_t max);

  /// Seconds that threads have read since the last call.
  double take_busy_s();
  Bytes held() const;

 private:
  struct Reading;

  NodePtr keep_;
  const IndexedSource& source_;
  Engine& engine_;
  const std::size_t most_runs_;
  std::deque<std::shared_ptr<Reading>> window_;
  std::int64_t failed_until_ = 0;  ///< nothing begins before the consumer has passed this
  double busy_s_ = 0;
};

}  // namespace plimsoll::data
