#include "data/stages/shuffle_stage.h"

#include <algorithm>
#include <array>
#include <utility>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

/// Positions kept per window, to go back to the oldest element in it.
constexpr std::uint64_t kAnchorsPerWindow = 64;
/// A window in bytes has as many elements as it takes; up to this many are counted on beforehand.
constexpr std::size_t kMostCounted = 65536;
/// The most a draw can tell apart, where only bytes are given.
constexpr std::size_t kMostElements = 0xFFFFFFFF;

std::size_t window_size(const ShuffleOptions& options) {
  return options.elements == 0 ? kMostElements : static_cast<std::size_t>(options.elements);
}

}  // namespace

ShuffleStage::ShuffleStage(StagePtr input, Engine& engine, std::string title,
                           const ElementSpec& spec, const ShuffleOptions& options,
                           std::uint64_t seed, Charge charge)
    : engine_(engine),
      title_(std::move(title)),
      size_(window_size(options)),
      most_bytes_(options.bytes),
      seed_(seed),
      reshuffle_(options.reshuffle_each_iteration),
      slot_bytes_(ShuffleWindow::slot_bytes(spec, options)),
      inbox_(std::move(input), std::min(size_, kMostCounted) / kAnchorsPerWindow + 1),
      charge_(std::move(charge)),
      window_(engine, title_, spec, options) {}

void ShuffleStage::start(std::uint64_t epoch) {
  epoch_ = epoch;
  begin(0);
  inbox_.start(epoch);
}

void ShuffleStage::begin(std::uint64_t draws) {
  draws_.start(mix_ids(seed_, reshuffle_ ? epoch_ : 0), draws);
  window_.clear();
  units_.clear();
  bytes_ = 0;
  ended_ = false;
  look_again_ = 0;
  replay_.clear();
  replay_until_ = 0;
  unreplayed_ = nullptr;
}

/// The window is saved as units of the input, in the order of its slots, and made again from the
/// position of the oldest.
StatePtr ShuffleStage::save() const {
  if (!replay_.empty() || replay_until_ > inbox_.taken()) return unreplayed_;
  const std::uint64_t first = oldest();
  std::vector<std::uint64_t> words{epoch_, draws_.at(), ended_ ? 1U : 0U, inbox_.taken() - first};
  words.reserve(words.size() + units_.size());
  for (const std::uint64_t unit : units_) words.push_back(unit - first);
  return make_state(std::move(words), {inbox_.position(first)});
}

void ShuffleStage::restore(const State& state) {
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

Pull ShuffleStage::pull(ElementBlock& out, std::size_t max) {
  if (inbox_.taken() < replay_until_) {
    const Pull replayed = replay();
    if (replayed != Pull::ready) return replayed;
  }
  const Pull filled = fill_window();
  if (filled == Pull::pending) return filled;
  if (window_.empty()) return Pull::end;
  const std::size_t before = out.size();
  try {
    return give(out, before, std::min(max, window_.block()));
  } catch (const Error&) {
    // Comes again with the next call.
    if (out.size() == before) throw;
    return Pull::ready;
  }
}

Pull ShuffleStage::give(ElementBlock& out, std::size_t before, std::size_t max) {
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

Pull ShuffleStage::fill_window() {
  while (!ended_ && !is_full()) {
    const Pull filled = inbox_.fill(std::min(window_.block(), size_ - window_.size()));
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
void ShuffleStage::take_in() {
  while (inbox_.ready() > 0 && !is_full()) {
    pay_for_slots();
    bytes_ += inbox_.front().nbytes();
    units_.push_back(inbox_.taken() + 1);
    window_.push_back(std::move(inbox_.front()));
    inbox_.pop();
  }
}

bool ShuffleStage::is_full() const {
  return window_.size() >= size_ || (most_bytes_ > 0 && bytes_ >= most_bytes_);
}

/// Where their number is not known beforehand, slots are charged as the window grows.
void ShuffleStage::pay_for_slots() {
  if (most_bytes_ == 0 || window_.size() < window_.capacity()) return;
  const std::size_t slots = std::max<std::size_t>(64, 2 * window_.size());
  charge_ = engine_.budget().charge(Tag::shuffle, title_, slots * slot_bytes_);
  window_.reserve(slots);
  units_.reserve(slots);
}

void ShuffleStage::swap_in(ElementBlock& out, std::size_t count) {
  if (!window_.has_tensors()) {
    swap_in_numbers(out, count);
    return;
  }
  for (; count > 0; --count) {
    std::uint32_t slot = 0;
    out.push_back(draw(slot));
    units_[slot] = inbox_.taken() + 1;
    window_.put(slot, std::move(inbox_.front()));
    inbox_.pop();
  }
}

/// The window is larger than the caches: slots are drawn a few ahead and fetched meanwhile.
void ShuffleStage::swap_in_numbers(ElementBlock& out, std::size_t count) {
  constexpr std::size_t kAhead = 16;
  std::array<std::uint32_t, kAhead> slots;
  const auto size = static_cast<std::uint32_t>(window_.size());
  while (count > 0) {
    const std::size_t drawn = std::min(count, kAhead);
    for (std::size_t i = 0; i < drawn; ++i) {
      slots[i] = draws_.below(size);
      const Element* const element = &window_.at(slots[i]);
      __builtin_prefetch(element, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(element + 1) - 1, 1);
      __builtin_prefetch(&units_[slots[i]], 1);
    }
    for (std::size_t i = 0; i < drawn; ++i) {
      out.push_back(std::move(window_.at(slots[i])));
      window_.at(slots[i]) = std::move(inbox_.front());
      inbox_.pop();
      units_[slots[i]] = inbox_.taken();
    }
    count -= drawn;
  }
}

/// What cannot be had for want of memory is as if it had not been drawn.
Element ShuffleStage::draw(std::uint32_t& slot) {
  slot = draws_.below(static_cast<std::uint32_t>(window_.size()));
  try {
    return window_.take(slot);
  } catch (...) {
    draws_.back();
    throw;
  }
}

void ShuffleStage::take_one(ElementBlock& out) {
  std::uint32_t slot = 0;
  out.push_back(draw(slot));
  if (most_bytes_ > 0) bytes_ -= out.back().nbytes();
  window_.remove(slot);
  units_[slot] = units_.back();
  units_.pop_back();
}

Pull ShuffleStage::replay() {
  while (inbox_.taken() < replay_until_) {
    Pull filled = Pull::pending;
    try {
      filled =
          inbox_.fill(std::min<std::uint64_t>(window_.block(), replay_until_ - inbox_.taken()));
    } catch (const DataError&) {
      continue;  // was seen before
    }
    if (filled == Pull::pending) return filled;
    if (filled == Pull::end) {
      window_.clear();
      units_.clear();
      replay_until_ = 0;
      finish_replay();
      ended_ = true;
      throw DataError("[shuffle] the input has become shorter since the position was saved");
    }
    while (inbox_.ready() > 0 && inbox_.taken() < replay_until_) {
      const auto found = replay_.find(inbox_.taken() + 1);
      if (found != replay_.end()) window_.put(found->second, std::move(inbox_.front()));
      inbox_.pop();
    }
  }
  finish_replay();
  return Pull::ready;
}

void ShuffleStage::finish_replay() {
  replay_.clear();
  unreplayed_ = nullptr;
  ended_ = replay_ended_;
  bytes_ = 0;
  for (std::size_t slot = 0; slot < window_.size(); ++slot) bytes_ += window_.nbytes(slot);
}

/// Units taken before the oldest element of the window.
std::uint64_t ShuffleStage::oldest() const {
  if (units_.empty()) return inbox_.taken();
  return *std::min_element(units_.begin(), units_.end()) - 1;
}

/// Now and then; finding the oldest looks at the whole window.
void ShuffleStage::forget() {
  if (inbox_.taken() < look_again_) return;
  inbox_.forget(oldest());
  look_again_ = inbox_.taken() + std::min(size_, std::max<std::size_t>(window_.size(), 1));
}

}  // namespace plimsoll::data
