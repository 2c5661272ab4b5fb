#include "data/stages/gather_stage.h"

#include <algorithm>
#include <utility>

#include <plimsoll/base/error.h>

#include "data/stages/batching.h"

namespace plimsoll::data {
namespace {

constexpr std::uint64_t kSkipBlock = 256;

}  // namespace

GatherStage::GatherStage(StagePtr input, Engine& engine, const std::string& title,
                         const Gathering& gathering, Collator collator, Charge charge)
    : inbox_(std::move(input)),
      engine_(engine),
      options_(engine.tensor_options(Tag::input, title)),
      gathering_(gathering),
      collator_(std::move(collator)),
      charge_(std::move(charge)) {}

Bytes GatherStage::slot_bytes(const ElementSpec& row) {
  Bytes bytes = kSlotBytes;
  for (const TensorSpec& component : row.components) {
    if (component.dims && !component.dims->empty()) bytes += component.nbytes().value_or(0);
  }
  return bytes;
}

void GatherStage::start(std::uint64_t epoch) {
  reset();
  inbox_.start(epoch);
}

void GatherStage::reset() {
  kept_.clear();
  to_skip_ = 0;
  replay_until_ = 0;
  ended_ = false;
}

/// Units taken before the first element that is kept.
std::uint64_t GatherStage::first_unit() const {
  return kept_.empty() ? inbox_.taken() : kept_.front().unit - 1;
}

/// What is kept is taken again from the position of the first.
StatePtr GatherStage::save() const {
  const std::uint64_t until = std::max(inbox_.taken(), replay_until_);
  // Before a replay has begun, the inbox stands where it was restored to.
  const std::uint64_t first = first_unit();
  return make_state({until - first, to_skip_}, {inbox_.position(first)});
}

void GatherStage::restore(const State& state) {
  reset();
  replay_until_ = state.words.at(0);
  to_skip_ = state.words.at(1);
  inbox_.restore(*state.inputs.at(0));
}

Pull GatherStage::pull(ElementBlock& out, std::size_t /*max*/) {
  if (inbox_.taken() < replay_until_) {
    const Pull replayed = replay();
    if (replayed == Pull::pending) return replayed;
  }
  const Pull gathered = gather();
  if (gathered == Pull::pending) return gathered;
  const auto span = static_cast<std::size_t>(gathering_.span());
  if (kept_.empty() || (gathering_.drop_remainder && kept_.size() < span)) {
    kept_.clear();
    return Pull::end;
  }
  return deliver(out) ? Pull::ready : Pull::pending;
}

/// Keeps what was kept before; errors were seen then.
Pull GatherStage::replay() {
  while (inbox_.taken() < replay_until_) {
    try {
      const Pull filled = inbox_.fill(replay_until_ - inbox_.taken());
      if (filled != Pull::ready) return filled;
      while (inbox_.ready() > 0 && inbox_.taken() < replay_until_) take();
    } catch (const DataError&) {
      continue;
    }
  }
  return Pull::ready;
}

/// Takes elements until the window is full or the input ends.
Pull GatherStage::gather() {
  const auto span = static_cast<std::uint64_t>(gathering_.span());
  while (!ended_ && kept_.size() < span) {
    const Pull filled = inbox_.fill(to_skip_ > 0 ? std::min(to_skip_, kSkipBlock)
                                                 : std::min(span - kept_.size(), kSkipBlock));
    if (filled == Pull::pending) return filled;
    ended_ = filled == Pull::end;
    for (; to_skip_ > 0 && inbox_.ready() > 0; --to_skip_) inbox_.pop();
    if (kept_.empty()) inbox_.forget(inbox_.taken());
    while (inbox_.ready() > 0 && kept_.size() < span) take();
  }
  return Pull::ready;
}

/// Throws DataError for an element that does not go with the others, past it.
void GatherStage::take() {
  Kept next{std::move(inbox_.front()), inbox_.taken() + 1};
  inbox_.pop();
  collator_.check(kept_.empty() ? next.element : kept_.front().element, next.element);
  kept_.push_back(std::move(next));
}

/// False where the memory is wanted for what the consumer waits for.
bool GatherStage::deliver(ElementBlock& out) {
  std::vector<const Element*> rows;
  for (std::size_t i = 0; i < kept_.size(); i += static_cast<std::size_t>(gathering_.stride)) {
    rows.push_back(&kept_[i].element);
  }
  if (!engine_.demand() && engine_.spare() < collator_.nbytes(rows) + kLeave) return false;
  Element result = collator_.collate(rows, engine_, options_);
  result.id = mix_ids(kept_.front().element.id, static_cast<std::uint64_t>(gathering_.size));
  out.push_back(std::move(result));
  const auto shift = static_cast<std::uint64_t>(gathering_.shift);
  if (shift >= kept_.size()) {
    to_skip_ = shift - kept_.size();
    kept_.clear();
  } else {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(shift));
  }
  inbox_.forget(first_unit());
  return true;
}

}  // namespace plimsoll::data
