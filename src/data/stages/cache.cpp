#include <algorithm>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

/// Keeps what the first pass gives. A later pass reads what is there and goes on pulling where an
/// earlier one stopped, so a pass that was not finished is of use, too.
class CacheStage final : public Stage {
 public:
  CacheStage(StagePtr input, Engine& engine)
      : inbox_(std::move(input)),
        engine_(engine),
        options_(engine.tensor_options(Tag::cache, "cache")) {}

  void start(std::uint64_t epoch) override {
    at_ = 0;
    if (!started_) begin(epoch);
  }
  StatePtr save() const override {
    return make_state({epoch_, at_, std::max(seen_, inbox_.taken())});
  }
  void restore(const State& state) override {
    // Where nothing else is left to give, what was kept ahead of the consumer goes, too: with all
    // of it, as positions within the input are not kept.
    const bool ahead = !complete_ && kept_.size() > state.words.at(1);
    if (!started_ || epoch_ != state.words.at(0) || (ahead && engine_.last_resort())) {
      begin(state.words.at(0));
    } else {
      inbox_.restore(*inbox_.position(), inbox_.taken());  // what was made ahead goes
    }
    at_ = static_cast<std::size_t>(state.words.at(1));
    seen_ = state.words.at(2);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    while (kept_.size() <= at_ && !complete_) {
      inbox_.forget(inbox_.taken());
      Pull filled = Pull::pending;
      try {
        filled = inbox_.fill(max);
      } catch (const DataError&) {
        if (inbox_.taken() > seen_) throw;
        continue;
      }
      if (filled == Pull::pending) return filled;
      complete_ = filled == Pull::end;
      for (; inbox_.ready() > 0; inbox_.pop()) kept_.push_back(copy(inbox_.front()));
    }
    if (at_ >= kept_.size()) return Pull::end;
    const std::size_t count = std::min(max, kept_.size() - at_);
    for (std::size_t i = 0; i < count; ++i) out.push_back(kept_[at_++]);
    return Pull::ready;
  }

 private:
  void begin(std::uint64_t epoch) {
    started_ = true;
    complete_ = false;
    epoch_ = epoch;
    seen_ = 0;
    kept_.clear();
    inbox_.start(epoch);
  }
  /// In memory of its own, as what came may be a row of something larger, and read-only, as all
  /// later passes deliver it again.
  Element copy(const Element& element) const {
    Element result;
    for (const Value& value : element) {
      result.push_back(
          value.is_scalar()
              ? value
              : Value(value.tensor().clone(value.tensor().device(), options_).read_only()));
    }
    result.id = element.id;
    return result;
  }

  Inbox inbox_;
  Engine& engine_;
  TensorOptions options_;
  RemedyHandle remedy_ = Budget::remedy(
      "leave out cache(); elements are then made again each epoch", options_.account);
  bool started_ = false;
  bool complete_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t seen_ = 0;  ///< units of the input whose errors have been thrown before
  ElementBlock kept_;
  std::size_t at_ = 0;
};

class CacheNode final : public Node {
 public:
  explicit CacheNode(NodePtr input)
      : Node("cache", "", {input}, input->spec(), input->cardinality()) {}
  bool hands_on() const override { return true; }
  bool keeps_ids() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<CacheStage>(builder.input(*this), builder.engine());
  }
  Bytes minimum(int /*threads*/) const override {
    const std::int64_t all = std::max<std::int64_t>(0, cardinality());
    return static_cast<Bytes>(all) * (spec().nbytes().value_or(0) + sizeof(Element));
  }
};

}  // namespace

Dataset Dataset::cache() const {
  if (cardinality() == kInfinite) {
    throw InvalidArgument("[cache] the dataset never ends; cache before repeat");
  }
  return Dataset(std::make_shared<CacheNode>(node_));
}

}  // namespace plimsoll::data
