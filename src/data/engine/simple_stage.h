#pragma once

#include <cstdint>
#include <utility>

#include "data/engine/inbox.h"
#include "data/engine/row_sink.h"

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

/// A stage that gives only some of its input's elements, by their number. Where the input can leave
/// out the others itself, this hands on what comes.
class ChoosingStage : public CountingStage, public RowSource {
 public:
  ChoosingStage(StagePtr input, std::uint64_t first, std::uint64_t step)
      : CountingStage(std::move(input)), narrowed_(input_->narrow(first, step)) {}
  bool narrow(std::uint64_t first, std::uint64_t step) override {
    return narrowed_ && input_->narrow(first, step);
  }
  bool offer(Placement& placement) override { return narrowed_ && input_->offer(placement); }
  void write_rows_to(RowSink& sink) override {
    auto* const source = dynamic_cast<RowSource*>(input_.get());
    if (narrowed_ && source != nullptr) source->write_rows_to(sink);
  }

 protected:
  virtual Pull choose(ElementBlock& out, std::size_t max) = 0;
  Pull pull(ElementBlock& out, std::size_t max) final {
    return narrowed_ ? input_->next_block(out, max) : choose(out, max);
  }

 private:
  const bool narrowed_;
};

}  // namespace plimsoll::data
