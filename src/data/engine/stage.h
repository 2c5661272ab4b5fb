#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/pipeline.h>

#include "data/engine/state.h"

namespace plimsoll::data {

enum class Pull : std::uint8_t {
  ready,    ///< at least one element was appended
  pending,  ///< nothing yet: a task has to finish first
  end,      ///< no more in this pass
};

/// Rows of a batch that is being filled, offered to the stage that makes the elements.
class Placement {
 public:
  virtual ~Placement() = default;
  /// Tensors for the next element in stream order, one per component (undefined for scalars).
  /// nullopt where there is no room for another batch now. Throws OutOfMemory where the batch that
  /// the consumer waits for has none.
  virtual std::optional<std::vector<Tensor>> place() = 0;
  /// An element that was given a place has left the stage, delivered or failed.
  virtual void left() = 0;
};

/// Adds up the times between on() and off().
class Stopwatch {
 public:
  void on() {
    if (!since_) since_ = std::chrono::steady_clock::now();
  }
  void off(double& seconds) {
    if (!since_) return;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - *since_).count();
    since_.reset();
  }
  void drop() { since_.reset(); }

 private:
  std::optional<std::chrono::steady_clock::time_point> since_;
};

/// A running stage. All methods are called by one thread at a time (the engine's strand), so a
/// stage has no locks.
///
/// Stages ask for exactly what they give: a stage between two calls holds no element of its input
/// that it has not accounted for in save(). Only stages that run ahead (parallel map, prefetch) do,
/// and those keep the positions to go back to.
///
/// After a DataError a stage is past the failing element; after OutOfMemory it is as before.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// Begins a pass. `epoch` tells passes apart for random draws.
  virtual void start(std::uint64_t epoch) = 0;

  /// Appends 1 to `max` (> 0) elements to `out`, or says why not.
  Pull next_block(ElementBlock& out, std::size_t max);

  virtual StatePtr save() const = 0;
  virtual void restore(const State& state) = 0;
  /// About how many words save() copies; what it costs to keep a position.
  virtual std::size_t state_words() const { return 1; }

  /// Work ahead of the consumer, while there is room and nobody waits for the strand. Called
  /// where runs_ahead() is true; throws nothing that the consumer must see.
  virtual void pump() {}
  virtual bool runs_ahead() const { return false; }
  /// False where pump() has nothing to do for now.
  virtual bool has_ahead() const { return true; }

  /// Gives up memory that it can do without, while nothing else runs: bytes that came free, more
  /// or less. Called where can_relieve() is true.
  virtual Bytes relieve() { return 0; }
  virtual bool can_relieve() const { return false; }

  /// Lets the stage that makes the elements write them in place. True if it will.
  virtual bool offer(Placement& /*placement*/) { return false; }

  /// Has it give only element `first` and every `step`-th after it, counted by what the source has
  /// and not by what can be read, without making the others. Called before the first start(),
  /// possibly several times: each chooses among what the one before has left. False where it
  /// cannot.
  virtual bool narrow(std::uint64_t /*first*/, std::uint64_t /*step*/) { return false; }

  /// Contents of the elements it has made or taken and not handed on.
  virtual Bytes held() const { return 0; }
  /// What was chosen for it where that was left open: "2 threads", "4 ahead".
  virtual std::string setting() const { return {}; }
  /// True if its input runs on a strand of its own.
  virtual bool begins_section() const { return false; }
  /// True if a pull of it can be pending because of its own tasks; it measures its waits itself.
  virtual bool has_tasks() const { return false; }

  const StageStats& stats() const { return stats_; }

 protected:
  virtual Pull pull(ElementBlock& out, std::size_t max) = 0;
  StageStats stats_;

 private:
  friend class Builder;
  std::int64_t pull_ns_ = 0;
  Stopwatch pending_;
  std::vector<const Stage*> inputs_;  ///< for the time that is theirs
};

using StagePtr = std::unique_ptr<Stage>;

}  // namespace plimsoll::data
