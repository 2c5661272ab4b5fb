#include "data/engine/inbox.h"

#include <algorithm>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

constexpr std::size_t kReplayBlock = 256;
/// Keeping a position copies its words. A unit pays for this many, and for one more with each so
/// many bytes of its contents: what is large was dear to make, and is dear to make again.
constexpr std::uint64_t kWordsPerUnit = 8;
constexpr Bytes kBytesPerWord = 64;

}  // namespace

void Inbox::start(std::uint64_t epoch) {
  block_.clear();
  at_ = 0;
  taken_ = 0;
  replay_ = 0;
  anchors_.clear();
  input_->start(epoch);
}

Pull Inbox::fill(std::size_t max) {
  if (at_ < block_.size()) return Pull::ready;
  block_.clear();
  at_ = 0;
  while (replay_ > 0) {
    try {
      const Pull pulled = input_->next_block(block_, std::min<std::size_t>(kReplayBlock, replay_));
      if (pulled != Pull::ready) return pulled;
      replay_ -= block_.size();
      block_.clear();
    } catch (const DataError&) {
      --replay_;
    }
  }
  const auto now = static_cast<std::int64_t>(taken_);
  if (anchors_.empty() || (now >= anchors_.back().unit + static_cast<std::int64_t>(stride_) &&
                           worth_ >= input_->state_words())) {
    anchors_.push_back({now, input_->save()});
    worth_ = 0;
  }
  try {
    const Pull pulled = input_->next_block(block_, max);
    if (!block_.empty()) {
      worth_ += block_.size() * (kWordsPerUnit + block_.front().nbytes() / kBytesPerWord);
    }
    return pulled;
  } catch (const DataError&) {
    ++taken_;
    throw;
  }
}

StatePtr Inbox::position(std::uint64_t unit) const {
  if (unit == taken_ && at_ == block_.size() && replay_ == 0) {
    return make_state({0}, {input_->save()});
  }
  const auto wanted = static_cast<std::int64_t>(unit);
  const auto after = std::upper_bound(anchors_.begin(), anchors_.end(), wanted,
                                      [](std::int64_t u, const Anchor& a) { return u < a.unit; });
  if (after == anchors_.begin()) throw InternalError("[Inbox] a position was given up too early");
  const Anchor& anchor = *std::prev(after);
  return make_state({static_cast<std::uint64_t>(wanted - anchor.unit)}, {anchor.state});
}

void Inbox::forget(std::uint64_t unit) {
  while (anchors_.size() > 1 && anchors_[1].unit <= static_cast<std::int64_t>(unit)) {
    anchors_.pop_front();
  }
}

void Inbox::restore(const State& state, std::uint64_t unit) {
  block_.clear();
  at_ = 0;
  taken_ = unit;
  replay_ = state.words.at(0);
  anchors_.clear();
  input_->restore(*state.inputs.at(0));
  // Until the replay is done the way back is from where it begins; units before are not asked for.
  if (replay_ > 0) {
    anchors_.push_back(
        {static_cast<std::int64_t>(unit) - static_cast<std::int64_t>(replay_), state.inputs[0]});
  }
}

}  // namespace plimsoll::data
