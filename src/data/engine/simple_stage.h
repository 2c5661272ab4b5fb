#pragma once

#include <cstdint>
#include <utility>

#include "data/engine/inbox.h"

namespace plimsoll::data {

/// A stage with one input and nothing of its own to remember.
class OneInputStage : public Stage {
 public:
  explicit OneInputStage(StagePtr input) : inbox_(std::move(input)) {}
  void start(std::uint64_t epoch) override { inbox_.start(epoch); }
  StatePtr save() const override { return inbox_.position(); }
  void restore(const State& state) override { inbox_.restore(state); }
  std::size_t state_words() const override { return inbox_.state_words(); }

 protected:
  Inbox inbox_;
};

/// A stage that hands its input's elements on and counts them.
class CountingStage : public Stage {
 public:
  explicit CountingStage(StagePtr input) : input_(std::move(input)) {}
  void start(std::uint64_t epoch) override {
    count_ = 0;
    input_->start(epoch);
  }
  StatePtr save() const override { return make_state({count_}, {input_->save()}); }
  void restore(const State& state) override {
    count_ = state.words.at(0);
    input_->restore(*state.inputs.at(0));
  }
  std::size_t state_words() const override { return 1 + input_->state_words(); }

 protected:
  StagePtr input_;
  std::uint64_t count_ = 0;
};

}  // namespace plimsoll::data
