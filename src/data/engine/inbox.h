#pragma once

#include <cstdint>
#include <deque>

#include "data/engine/stage.h"

namespace plimsoll::data {

/// A stage's input: blocks are pulled from it, units taken out one by one, and any position since
/// the last one given up can be saved. A unit is an element or an error: both are counted, so that
/// a restored stream has neither twice.
class Inbox {
 public:
  /// Positions are kept at most every `stride` units, and less often where they are large.
  explicit Inbox(StagePtr input, std::uint64_t stride = 1)
      : input_(std::move(input)), stride_(stride) {}

  Stage& stage() { return *input_; }
  const Stage& stage() const { return *input_; }

  void start(std::uint64_t epoch);

  /// Makes sure there is a unit to take, pulling up to `max` at once if there is none. Throws what
  /// the input throws; a DataError counts as a unit that was taken.
  Pull fill(std::size_t max);
  /// Elements that can be taken without pulling.
  std::size_t ready() const { return block_.size() - at_; }
  Element& front() { return block_[at_]; }
  /// Ends the use of front(), whose contents may have been moved away.
  void pop() {
    ++at_;
    ++taken_;
  }
  /// True while units are pulled that were handed on before and are dropped.
  bool replaying() const { return replay_ > 0; }
  /// Units taken since start().
  std::uint64_t taken() const { return taken_; }

  /// The position after `unit` units; those before it may be forgotten with forget().
  StatePtr position(std::uint64_t unit) const;
  StatePtr position() const { return position(taken_); }
  void forget(std::uint64_t unit);

  /// A position that can be kept and used without the inbox: so many units after a state of the
  /// input.
  struct Mark {
    StatePtr state;
    std::uint64_t units = 0;
    StatePtr position() const { return make_state({units}, {state}); }
  };
  /// Of the last unit taken; after a fill().
  Mark mark() const {
    return {anchors_.back().state,
            static_cast<std::uint64_t>(static_cast<std::int64_t>(taken_) - anchors_.back().unit)};
  }
  /// Goes to a position; units count from `unit` on.
  void restore(const State& state, std::uint64_t unit = 0);
  std::size_t state_words() const { return 2 + input_->state_words(); }

 private:
  struct Anchor {
    std::int64_t unit = 0;  ///< below 0: before the position that was restored
    StatePtr state;
  };

  StagePtr input_;
  std::uint64_t stride_;
  ElementBlock block_;
  std::size_t at_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t replay_ = 0;  ///< units to drop before the first
  std::deque<Anchor> anchors_;
  std::uint64_t worth_ = 0;  ///< of the units since the last anchor, in words
};

}  // namespace plimsoll::data
