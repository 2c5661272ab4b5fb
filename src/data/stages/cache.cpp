#include <algorithm>
#include <utility>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

/// Keeps what the first pass gives. A later pass reads what is there and goes on pulling where an
/// earlier one stopped, so a pass that was not finished is of use, too.
///
/// Under relief it gives up the later elements, then all of them, and keeps no more: those are made
/// again in each pass, from the last position of the input that is known before them.
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
    // As a last resort, elements cached ahead of the consumer are dropped.
    const bool ahead = !complete_ && kept_.size() > state.words.at(1);
    if (!started_ || epoch_ != state.words.at(0) || (ahead && engine_.last_resort())) {
      begin(state.words.at(0));
    } else {
      inbox_.restore(*inbox_.position(), inbox_.taken());  // what was made ahead goes
    }
    at_ = static_cast<std::size_t>(state.words.at(1));
    seen_ = state.words.at(2);
  }
  bool can_relieve() const override { return true; }
  Bytes relieve() override {
    keeps_ = false;
    // Asked again before anything could be made, it has not been enough.
    const std::size_t wanted = std::exchange(relieved_, true) ? 0 : kept_.size() / 2;
    const std::size_t left = anchors_.empty() ? 0 : anchor_before(wanted).index;
    Bytes freed = 0;
    for (std::size_t i = left; i < kept_.size(); ++i) freed += kept_[i].nbytes();
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(left), kept_.end());
    kept_.shrink_to_fit();
    return freed;
  }
  Bytes held() const override {
    Bytes total = 0;
    for (const Element& element : kept_) total += element.nbytes();
    return total;
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    while (at_ >= kept_.size()) {
      if (complete_ && at_ >= count_) return Pull::end;
      if (next_ > at_) go_back();
      const Pull filled = fill(max);
      if (filled == Pull::pending) return filled;
      if (filled == Pull::end) {
        complete_ = true;
        count_ = next_;
        continue;
      }
      if (filled == Pull::ready && hand_on(out, max)) return filled;
    }
    const std::size_t count = std::min(max, kept_.size() - at_);
    for (std::size_t i = 0; i < count; ++i) out.push_back(kept_[at_++]);
    return Pull::ready;
  }

 private:
  /// Where the input was before it gave element `index`.
  struct Anchor {
    std::size_t index = 0;
    std::uint64_t unit = 0;
    StatePtr state;
  };

  void begin(std::uint64_t epoch) {
    started_ = true;
    complete_ = false;
    epoch_ = epoch;
    seen_ = 0;
    next_ = 0;
    kept_.clear();
    anchors_.clear();
    inbox_.start(epoch);
  }

  /// Makes sure that the input has an element to take; errors that were told before are passed
  /// over.
  Pull fill(std::size_t max) {
    for (;;) {
      if (inbox_.ready() == 0) {
        inbox_.forget(inbox_.taken());
        remember();
      }
      try {
        return inbox_.fill(max);
      } catch (const DataError&) {
        if (inbox_.taken() > seen_) throw;
      }
    }
  }

  /// Takes what the input has ready, to keep it or to hand it on; true if `out` has got some.
  bool hand_on(ElementBlock& out, std::size_t max) {
    relieved_ = false;
    const std::size_t before = out.size();
    while (inbox_.ready() > 0 && out.size() - before < max) {
      if (keeps_ && next_ == kept_.size()) {
        kept_.push_back(copy(inbox_.front()));
      } else if (next_ == at_) {
        out.push_back(std::move(inbox_.front()));
        ++at_;
      }
      inbox_.pop();
      ++next_;
    }
    return out.size() > before;
  }

  /// Keeps the position of the input now and then, while it goes where it has not been.
  void remember() {
    const std::size_t stride = std::max(kAnchorStride, inbox_.state_words());
    if (!anchors_.empty() && next_ < anchors_.back().index + stride) return;
    anchors_.push_back({next_, inbox_.taken(), inbox_.position()});
  }

  /// The last at or before an element; the first is at 0.
  const Anchor& anchor_before(std::size_t index) const {
    return *std::prev(
        std::upper_bound(anchors_.begin(), anchors_.end(), index,
                         [](std::size_t i, const Anchor& anchor) { return i < anchor.index; }));
  }

  /// To the last position at or before the element that is wanted.
  void go_back() {
    seen_ = std::max(seen_, inbox_.taken());
    const Anchor& anchor = anchor_before(at_);
    inbox_.restore(*anchor.state, anchor.unit);
    next_ = anchor.index;
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

  static constexpr std::size_t kAnchorStride = 64;

  Inbox inbox_;
  Engine& engine_;
  TensorOptions options_;
  RemedyHandle remedy_ = Budget::remedy(
      "leave out cache(); elements are then made again each epoch", options_.account);
  bool started_ = false;
  bool complete_ = false;  ///< the end of the input has been seen
  bool keeps_ = true;      ///< false once memory was asked for
  bool relieved_ = false;  ///< and nothing was made since
  std::uint64_t epoch_ = 0;
  std::uint64_t seen_ = 0;  ///< units of the input whose errors have been thrown before
  ElementBlock kept_;       ///< the first elements
  std::size_t at_ = 0;      ///< the element that is given next
  std::size_t next_ = 0;    ///< the element that the input gives next
  std::size_t count_ = 0;   ///< of all elements, once complete
  std::vector<Anchor> anchors_;
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
};

}  // namespace

Dataset Dataset::cache() const {
  if (cardinality() == kInfinite) {
    throw InvalidArgument("[cache] the dataset never ends; cache before repeat");
  }
  return Dataset(std::make_shared<CacheNode>(node_));
}

}  // namespace plimsoll::data
