#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine.h"
#include "data/inbox.h"
#include "data/indexed_stage.h"
#include "data/node.h"
#include "data/permutation.h"

namespace plimsoll::data {
namespace {

constexpr std::size_t kFillBlock = 1024;
/// Positions kept per window, to go back to the oldest element in it.
constexpr std::uint64_t kAnchorsPerWindow = 64;

/// A window in bytes has as many elements as it takes; up to this many are paid for beforehand.
constexpr std::size_t kMostCounted = 65536;
constexpr Bytes kSlotBytes = sizeof(Element) + sizeof(std::uint64_t);

/// Random words, one after the other, from a place that can be named.
class Draws {
 public:
  void start(std::uint64_t key, std::uint64_t at) {
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
    at_ = at;
    if (at_ % 4 != 0) refill();
  }
  std::uint32_t below(std::uint32_t count) {
    if (at_ % 4 == 0) refill();
    return Philox::below(words_[at_++ % 4], count);
  }
  std::uint64_t at() const { return at_; }

 private:
  void refill() {
    const std::uint64_t block = at_ / 4;
    words_ = Philox::draw(
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}, key_);
  }
  Philox::Key key_{};
  Philox::Counter words_{};
  std::uint64_t at_ = 0;
};

class ShuffleStage final : public Stage {
 public:
  /// `most_bytes`: 0 for a window in elements alone.
  ShuffleStage(StagePtr input, Engine& engine, std::string title, std::size_t size,
               Bytes most_bytes, std::uint64_t seed, bool reshuffle, Charge charge)
      : inbox_(std::move(input), std::min(size, kMostCounted) / kAnchorsPerWindow + 1),
        engine_(engine),
        title_(std::move(title)),
        size_(size),
        most_bytes_(most_bytes),
        seed_(seed),
        reshuffle_(reshuffle),
        charge_(std::move(charge)) {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    begin(0);
    inbox_.start(epoch);
  }

  /// The window is saved as units of the input, in the order of its slots, and made again from the
  /// position of the oldest.
  StatePtr save() const override {
    if (!replay_.empty() || replay_until_ > inbox_.taken()) return unreplayed_;
    const std::uint64_t first = oldest();
    std::vector<std::uint64_t> words{epoch_, draws_.at(), ended_ ? 1U : 0U, inbox_.taken() - first};
    words.reserve(words.size() + units_.size());
    for (const std::uint64_t unit : units_) words.push_back(unit - first);
    return make_state(std::move(words), {inbox_.position(first)});
  }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    begin(state.words.at(1));
    const bool ended = state.words.at(2) != 0;
    inbox_.restore(*state.inputs.at(0));
    replay_until_ = state.words.at(3);
    window_.resize(state.words.size() - 4);
    units_.assign(state.words.begin() + 4, state.words.end());
    for (std::size_t slot = 0; slot < units_.size(); ++slot) replay_[units_[slot]] = slot;
    replay_ended_ = ended;
    if (replay_until_ > 0 || ended) unreplayed_ = std::make_shared<const State>(state);
    if (replay_until_ == 0) finish_replay();
  }
  std::size_t state_words() const override { return 4 + units_.size() + inbox_.state_words(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (inbox_.taken() < replay_until_) {
      const Pull replayed = replay();
      if (replayed != Pull::ready) return replayed;
    }
    const Pull filled = fill_window();
    if (filled == Pull::pending) return filled;
    if (window_.empty()) return Pull::end;
    const std::size_t before = out.size();
    while (out.size() - before < max && !window_.empty()) {
      if (most_bytes_ > 0) {
        // One goes, others come until the window is full again.
        take_one(out);
        if (ended_) continue;
        take_in();
        if (!is_full()) break;
        continue;
      }
      if (!ended_) {
        const std::size_t wanted = max - (out.size() - before);
        // An error of the input must not be taken before what was drawn has gone out: nothing
        // more is pulled once there is something to give.
        if (out.size() > before && inbox_.ready() == 0) break;
        const Pull pulled = inbox_.fill(wanted);
        if (pulled == Pull::pending) break;
        if (pulled == Pull::ready) {
          swap_in(out, std::min(wanted, inbox_.ready()));
          continue;
        }
        ended_ = true;
      }
      take_one(out);
    }
    forget();
    return out.size() > before ? Pull::ready : Pull::pending;
  }

 private:
  void begin(std::uint64_t draws) {
    draws_.start(mix_ids(seed_, reshuffle_ ? epoch_ : 0), draws);
    window_.clear();
    units_.clear();
    bytes_ = 0;
    ended_ = false;
    replay_.clear();
    replay_until_ = 0;
    unreplayed_ = nullptr;
  }

  Pull fill_window() {
    while (!ended_ && !is_full()) {
      const Pull filled = inbox_.fill(std::min(kFillBlock, size_ - window_.size()));
      if (filled == Pull::pending) return filled;
      if (filled == Pull::end) {
        ended_ = true;
        break;
      }
      take_in();
    }
    return Pull::ready;
  }

  /// What can be had without pulling.
  void take_in() {
    while (inbox_.ready() > 0 && !is_full()) {
      pay_for_slots();
      bytes_ += inbox_.front().nbytes();
      window_.push_back(std::move(inbox_.front()));
      inbox_.pop();
      units_.push_back(inbox_.taken());
    }
  }
  bool is_full() const {
    return window_.size() >= size_ || (most_bytes_ > 0 && bytes_ >= most_bytes_);
  }
  /// Where their number is not known beforehand, slots are charged as the window grows.
  void pay_for_slots() {
    if (most_bytes_ == 0 || window_.size() < window_.capacity()) return;
    const std::size_t slots = std::max<std::size_t>(64, 2 * window_.size());
    charge_ = engine_.budget().charge(Tag::shuffle, title_, slots * kSlotBytes);
    window_.reserve(slots);
    units_.reserve(slots);
  }
  /// The window is larger than the caches: slots are drawn a few ahead and fetched meanwhile.
  void swap_in(ElementBlock& out, std::size_t count) {
    constexpr std::size_t kAhead = 16;
    std::array<std::uint32_t, kAhead> slots;
    const auto size = static_cast<std::uint32_t>(window_.size());
    while (count > 0) {
      const std::size_t drawn = std::min(count, kAhead);
      for (std::size_t i = 0; i < drawn; ++i) {
        slots[i] = draws_.below(size);
        const Element* const element = &window_[slots[i]];
        __builtin_prefetch(element, 1);
        __builtin_prefetch(reinterpret_cast<const char*>(element + 1) - 1, 1);
        __builtin_prefetch(&units_[slots[i]], 1);
      }
      for (std::size_t i = 0; i < drawn; ++i) {
        out.push_back(std::move(window_[slots[i]]));
        window_[slots[i]] = std::move(inbox_.front());
        inbox_.pop();
        units_[slots[i]] = inbox_.taken();
      }
      count -= drawn;
    }
  }

  void take_one(ElementBlock& out) {
    const std::uint32_t slot = draws_.below(static_cast<std::uint32_t>(window_.size()));
    if (most_bytes_ > 0) bytes_ -= window_[slot].nbytes();
    out.push_back(std::move(window_[slot]));
    if (slot + 1 != window_.size()) {
      window_[slot] = std::move(window_.back());
      units_[slot] = units_.back();
    }
    window_.pop_back();
    units_.pop_back();
  }

  Pull replay() {
    while (inbox_.taken() < replay_until_) {
      try {
        const Pull filled =
            inbox_.fill(std::min<std::uint64_t>(kFillBlock, replay_until_ - inbox_.taken()));
        if (filled == Pull::pending) return filled;
        if (filled == Pull::end) throw DataError("[shuffle] the input has become shorter");
      } catch (const DataError&) {
        if (inbox_.taken() >= replay_until_) break;
        continue;  // was seen before
      }
      while (inbox_.ready() > 0 && inbox_.taken() < replay_until_) {
        const auto found = replay_.find(inbox_.taken() + 1);
        if (found != replay_.end()) window_[found->second] = std::move(inbox_.front());
        inbox_.pop();
      }
    }
    finish_replay();
    return Pull::ready;
  }
  void finish_replay() {
    replay_.clear();
    unreplayed_ = nullptr;
    ended_ = replay_ended_;
    bytes_ = 0;
    for (const Element& element : window_) bytes_ += element.nbytes();
  }

  /// Units taken before the oldest element of the window.
  std::uint64_t oldest() const {
    if (units_.empty()) return inbox_.taken();
    return *std::min_element(units_.begin(), units_.end()) - 1;
  }
  /// Now and then; finding the oldest looks at the whole window.
  void forget() {
    if (inbox_.taken() < look_again_) return;
    inbox_.forget(oldest());
    look_again_ = inbox_.taken() + std::min(size_, std::max<std::size_t>(window_.size(), 1));
  }

  Inbox inbox_;
  Engine& engine_;
  const std::string title_;
  const std::size_t size_;
  const Bytes most_bytes_;
  Bytes bytes_ = 0;  ///< in the window
  const std::uint64_t seed_;
  const bool reshuffle_;
  Charge charge_;
  std::uint64_t epoch_ = 0;
  Draws draws_;
  ElementBlock window_;
  std::vector<std::uint64_t> units_;  ///< of the window's slots, counted from 1
  bool ended_ = false;
  std::uint64_t look_again_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> replay_;  ///< unit -> slot
  std::uint64_t replay_until_ = 0;
  bool replay_ended_ = false;
  StatePtr unreplayed_;
};

/// The whole set in a random order, by index.
class PermutedStage final : public IndexedStage {
 public:
  PermutedStage(NodePtr keep, const IndexedSource& source, Engine& engine, std::uint64_t seed,
                bool reshuffle)
      : IndexedStage(std::move(keep), source, engine),
        seed_(seed),
        reshuffle_(reshuffle),
        permutation_(source.size(), seed) {}
  void start(std::uint64_t epoch) override {
    at_ = 0;
    set_epoch(epoch);
  }
  StatePtr save() const override { return make_state({epoch_, static_cast<std::uint64_t>(at_)}); }
  void restore(const State& state) override {
    set_epoch(state.words.at(0));
    at_ = static_cast<std::int64_t>(state.words.at(1));
  }

 protected:
  std::int64_t index_of(std::int64_t position) const override { return permutation_(position); }

 private:
  void set_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
    permutation_ = Permutation(source_.size(), mix_ids(seed_, reshuffle_ ? epoch : 0));
  }
  const std::uint64_t seed_;
  const bool reshuffle_;
  std::uint64_t epoch_ = 0;
  Permutation permutation_;
};

bool whole_set(const ShuffleOptions& options) {
  return options.elements == kWholeSet && options.bytes == 0;
}

std::string window_text(const ShuffleOptions& options) {
  if (whole_set(options)) return "whole set";
  if (options.bytes == 0) return std::to_string(options.elements);
  if (options.elements == 0) return fmt::format("bytes={}", options.bytes);
  return fmt::format("{}, bytes={}", options.elements, options.bytes);
}

class ShuffleNode final : public Node {
 public:
  ShuffleNode(NodePtr input, const ShuffleOptions& options)
      : Node("shuffle",
             fmt::format("{}, seed={}, reshuffle={}", window_text(options),
                         options.seed ? std::to_string(*options.seed) : "pipeline",
                         options.reshuffle_each_iteration),
             {input}, input->spec(), input->cardinality()),
        options_(options) {}
  StagePtr make(Builder& builder) const override {
    Engine& engine = builder.engine();
    const std::uint64_t seed =
        options_.seed ? mix_ids(*options_.seed, 1) : mix_ids(engine.seed(), builder.number());
    const bool reshuffle = options_.reshuffle_each_iteration;
    if (whole_set(options_)) {
      return std::make_unique<PermutedStage>(inputs()[0], *inputs()[0]->indexed(), engine, seed,
                                             reshuffle);
    }
    // The most a draw can tell apart, where only bytes are given.
    const std::size_t size = options_.elements == 0 ? std::size_t{0xFFFFFFFF}
                                                    : static_cast<std::size_t>(options_.elements);
    const Bytes paid = options_.bytes > 0 ? 0 : slots() * kSlotBytes;
    return std::make_unique<ShuffleStage>(builder.input(*this), engine, title(), size,
                                          options_.bytes, seed, reshuffle,
                                          engine.budget().charge(Tag::shuffle, title(), paid));
  }
  Bytes minimum() const override {
    if (whole_set(options_)) return 0;
    if (options_.bytes > 0) return 0;  // the elements' sizes say how many there will be
    Bytes each = kSlotBytes;
    for (const TensorSpec& component : spec().components) {
      if (component.dims && !component.dims->empty()) each += component.nbytes().value_or(0);
    }
    return slots() * each;
  }

 private:
  Bytes slots() const {
    const std::int64_t all = cardinality();
    return static_cast<Bytes>(all >= 0 ? std::min(all, options_.elements) : options_.elements);
  }
  ShuffleOptions options_;
};

}  // namespace

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  if (options.elements < 0 || options.elements > std::int64_t{0xFFFFFFFF}) {
    throw InvalidArgument(fmt::format("[shuffle] a window of {} elements", options.elements));
  }
  if (whole_set(options) && node_->indexed() == nullptr) {
    throw InvalidArgument(fmt::format(
        "[shuffle] the whole set can be shuffled only where elements have an index, and {} gives "
        "them in order; give a window, or shuffle before it",
        node_->title()));
  }
  return Dataset(std::make_shared<ShuffleNode>(node_, options));
}

}  // namespace plimsoll::data
