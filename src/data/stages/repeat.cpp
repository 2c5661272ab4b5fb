#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/engine/pinned_memory.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

class RepeatStage final : public Stage, public PinnedBatches {
 public:
  RepeatStage(StagePtr input, std::int64_t times) : input_(std::move(input)), times_(times) {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    pass_ = 0;
    any_ = false;
    if (times_ != 0) input_->start(epoch_);
  }
  StatePtr save() const override {
    return make_state({epoch_, pass_, any_ ? 1U : 0U}, {input_->save()});
  }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    pass_ = state.words.at(1);
    any_ = state.words.at(2) != 0;
    input_->restore(*state.inputs.at(0));
  }
  std::size_t state_words() const override { return 3 + input_->state_words(); }
  void assemble_in(const std::shared_ptr<PinnedMemory>& memory) override {
    PinnedBatches::offer(*input_, memory);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (times_ < 0 || pass_ < static_cast<std::uint64_t>(times_)) {
      const Pull pulled = input_->next_block(out, max);
      if (pulled == Pull::ready) {
        any_ = true;
        if (pass_ > 0) {
          for (std::size_t i = before; i < out.size(); ++i) out[i].id = mix_ids(out[i].id, pass_);
        }
        return pulled;
      }
      if (pulled == Pull::pending) return pulled;
      if (!any_ && times_ < 0) return Pull::end;  // nothing, for ever, ends at once
      ++pass_;
      any_ = false;
      if (times_ < 0 || pass_ < static_cast<std::uint64_t>(times_)) {
        input_->start(mix_ids(epoch_, pass_));
      }
    }
    return Pull::end;
  }

 private:
  StagePtr input_;
  const std::int64_t times_;
  std::uint64_t epoch_ = 0;
  std::uint64_t pass_ = 0;
  bool any_ = false;  ///< in this pass
};

std::int64_t repeated_cardinality(const Node& input, std::int64_t times) {
  const std::int64_t all = input.cardinality();
  if (times == 0 || all == 0) return 0;
  if (all < 0) return all == kUnknown && times < 0 ? kInfinite : all;
  std::int64_t total = 0;
  if (times < 0 || __builtin_mul_overflow(all, times, &total)) return kInfinite;
  return total;
}

class RepeatNode final : public Node {
 public:
  RepeatNode(NodePtr input, std::int64_t times)
      : Node("repeat", times < 0 ? "for ever" : fmt::format("{}", times), {input}, input->spec(),
             repeated_cardinality(*input, times)),
        times_(times) {}
  bool hands_on() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<RepeatStage>(builder.input(*this), times_);
  }

 private:
  std::int64_t times_;
};

}  // namespace

Dataset Dataset::repeat(std::int64_t count) const {
  if (count < -1) {
    throw InvalidArgument(
        fmt::format("[repeat] a count of {}; give 0 or more, or -1 for ever", count));
  }
  const auto below = choose_below(*this, [=](const Dataset& files) { return files.repeat(count); });
  return below ? *below : Dataset(std::make_shared<RepeatNode>(node_, count));
}

}  // namespace plimsoll::data
