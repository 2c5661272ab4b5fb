#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/inbox.h"
#include "data/engine/node.h"
#include "data/stages/prefetch.h"

namespace plimsoll::data {
namespace {

using Function = std::function<Dataset(const Element&)>;

/// Reads several datasets by turns, in tf.data's order: a place in the cycle whose dataset has
/// ended takes the next one when its turn comes.
class InterleaveStage final : public Stage {
 public:
  /// The first `ahead` places of the cycle are run ahead.
  InterleaveStage(StagePtr input, Engine& engine, Function function, std::size_t cycle,
                  std::uint64_t block, std::size_t ahead, std::uint64_t number)
      : inbox_(std::move(input)),
        engine_(engine),
        function_(std::move(function)),
        block_length_(block),
        ahead_(ahead),
        number_(number),
        cycle_(cycle) {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    reset();
    inbox_.start(epoch);
  }
  StatePtr save() const override {
    if (unreplayed_) return unreplayed_;
    const std::uint64_t taken = inbox_.taken() - (deferred_ ? 1 : 0);
    std::uint64_t first = taken;
    for (const Place& place : cycle_) {
      if (place.stage) first = std::min(first, place.unit - 1);
    }
    std::vector<std::uint64_t> words{epoch_, at_, in_block_, ended_ ? 1U : 0U, taken - first};
    std::vector<StatePtr> inputs{inbox_.position(first)};
    for (const Place& place : cycle_) {
      words.push_back(place.stage ? place.unit - first : 0);
      if (place.stage) inputs.push_back(place.stage->save());
    }
    return make_state(std::move(words), std::move(inputs));
  }
  void restore(const State& state) override {
    reset();
    epoch_ = state.words.at(0);
    at_ = static_cast<std::size_t>(state.words.at(1)) % cycle_.size();
    in_block_ = state.words.at(2);
    replay_until_ = state.words.at(4);
    for (std::size_t i = 0; i < cycle_.size(); ++i) cycle_[i].unit = state.words.at(5 + i);
    inbox_.restore(*state.inputs.at(0));
    unreplayed_ = std::make_shared<const State>(state);
  }
  std::size_t state_words() const override {
    std::size_t words = 5 + inbox_.state_words();
    for (const Place& place : cycle_) words += 1 + (place.stage ? place.stage->state_words() : 0);
    return words;
  }
  bool runs_ahead() const override { return true; }
  bool has_ahead() const override {
    return std::any_of(cycle_.begin(), cycle_.end(),
                       [](const Place& place) { return !place.ahead.empty(); });
  }
  void pump() override {
    // The place whose turn it is comes first.
    for (std::size_t i = 0; i < cycle_.size(); ++i) {
      for (Stage* const stage : cycle_[(at_ + i) % cycle_.size()].ahead) {
        if (engine_.should_yield()) return;
        stage->pump();
      }
    }
  }
  std::string setting() const override {
    return ahead_ == 0 ? "" : fmt::format("{} inputs ahead", ahead_);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (unreplayed_) {
      const Pull replayed = replay();
      if (replayed != Pull::ready) return replayed;
    }
    for (std::size_t idle = 0; idle < cycle_.size();) {
      Place& place = cycle_[at_];
      if (!place.stage) {
        const Pull opened = ended_ ? Pull::end : open(place);
        if (opened == Pull::pending) return opened;
        if (opened == Pull::end) {
          ended_ = true;
          ++idle;
          advance();
          continue;
        }
      }
      const std::size_t before = out.size();
      const Pull pulled =
          place.stage->next_block(out, std::min<std::uint64_t>(max, block_length_ - in_block_));
      if (pulled == Pull::pending) {
        open_ahead();
        return pulled;
      }
      if (pulled == Pull::ready) {
        for (std::size_t i = before; i < out.size(); ++i) {
          out[i].id = mix_ids(place.outer.id, out[i].id);
        }
        in_block_ += out.size() - before;
        if (in_block_ >= block_length_) advance();
        return pulled;
      }
      idle = 0;
      close(place);
      forget();
      advance();
    }
    return Pull::end;
  }

 private:
  struct Place {
    Element outer;
    std::uint64_t unit = 0;     ///< of the outer element, counted from 1
    std::vector<Stage*> ahead;  ///< of the stages in `stage`, on this strand
    NodePtr node;               ///< what `stage` runs; may keep what its functions need
    StagePtr stage;
  };

  void close(Place& place) {
    // What their tasks took is part of no other stage's time.
    for (const Stage* const stage : place.ahead) stats_.busy_s += stage->stats().busy_s;
    place = Place();
  }
  void reset() {
    for (Place& place : cycle_) close(place);
    at_ = 0;
    in_block_ = 0;
    ended_ = false;
    deferred_ = nullptr;
    replay_until_ = 0;
    unreplayed_ = nullptr;
  }
  void advance() {
    at_ = (at_ + 1) % cycle_.size();
    in_block_ = 0;
  }
  void forget() {
    std::uint64_t first = inbox_.taken() - (deferred_ ? 1 : 0);
    for (const Place& place : cycle_) {
      if (place.stage) first = std::min(first, place.unit - 1);
    }
    inbox_.forget(first);
  }

  /// The places whose turns come next, while this one has nothing: closed places take their inputs
  /// in the order of the cycle from here on, whatever the others do meanwhile. An error waits for
  /// its turn, and counts as not yet taken.
  void open_ahead() {
    if (ahead_ == 0) return;
    for (std::size_t i = 1; i < cycle_.size(); ++i) {
      Place& place = cycle_[(at_ + i) % cycle_.size()];
      if (place.stage) continue;
      if (ended_ || deferred_) return;
      try {
        if (open(place) != Pull::ready) return;
      } catch (const DataError&) {
        deferred_ = std::current_exception();
      } catch (const OutOfMemory&) {
        return;
      }
    }
  }

  Pull open(Place& place) {
    if (deferred_) std::rethrow_exception(std::exchange(deferred_, nullptr));
    const Pull filled = inbox_.fill(1);
    if (filled != Pull::ready) return filled;
    place.outer = std::move(inbox_.front());
    inbox_.pop();
    place.unit = inbox_.taken();
    place.stage = make(place);
    place.stage->start(mix_ids(epoch_, place.outer.id));
    return Pull::ready;
  }
  StagePtr make(Place& place) {
    place.ahead.clear();
    try {
      place.node = function_(place.outer).node();
      const auto at = static_cast<std::size_t>(&place - cycle_.data());
      if (at >= ahead_) return Builder(engine_, number_, &place.ahead).build(place.node);
      const auto build = [&](Engine& section) {
        return Builder(section, number_, nullptr).build(place.node);
      };
      return make_prefetch(engine_, build, kAutotune, true);
    } catch (const OutOfMemory&) {
      place.ahead.clear();
      throw;
    } catch (const std::exception& error) {
      place.ahead.clear();
      throw DataError(
          fmt::format("[interleave] element {}: {}", place.outer.to_string(), error.what()));
    }
  }

  /// Takes the outer elements from the oldest open one on and reopens those that were open.
  Pull replay() {
    while (inbox_.taken() < replay_until_) {
      try {
        const Pull filled = inbox_.fill(1);
        if (filled == Pull::pending) return filled;
        if (filled == Pull::end) break;
      } catch (const DataError&) {
        continue;  // was seen before
      }
      const std::uint64_t unit = inbox_.taken() + 1;
      for (Place& place : cycle_) {
        if (place.unit == unit) place.outer = inbox_.front();
      }
      inbox_.pop();
    }
    std::size_t input = 1;
    for (Place& place : cycle_) {
      if (place.unit == 0) continue;
      place.stage = make(place);
      place.stage->restore(*unreplayed_->inputs.at(input++));
    }
    ended_ = unreplayed_->words.at(3) != 0;
    unreplayed_ = nullptr;
    return Pull::ready;
  }

  Inbox inbox_;
  Engine& engine_;
  Function function_;
  const std::uint64_t block_length_;
  const std::size_t ahead_;
  const std::uint64_t number_;
  std::vector<Place> cycle_;
  std::uint64_t epoch_ = 0;
  std::size_t at_ = 0;
  std::uint64_t in_block_ = 0;
  bool ended_ = false;
  std::exception_ptr deferred_;  ///< of the last unit taken, until its turn comes
  std::uint64_t replay_until_ = 0;
  StatePtr unreplayed_;
};

class InterleaveNode final : public Node {
 public:
  InterleaveNode(std::string kind, const NodePtr& input, Function function, std::string parameters,
                 std::size_t cycle, std::uint64_t block, std::size_t ahead)
      : Node(std::move(kind), std::move(parameters), {input}, ElementSpec::unknown(),
             input->cardinality() == 0 ? 0 : kUnknown),
        function_(std::move(function)),
        cycle_(cycle),
        block_(block),
        ahead_(ahead) {}
  StagePtr make(Builder& builder) const override {
    const std::uint64_t number = builder.number();
    return std::make_unique<InterleaveStage>(builder.input(*this), builder.engine(), function_,
                                             cycle_, block_, ahead_, number);
  }
  bool may_fail() const override { return true; }
  // The datasets that the function gives may.
  bool draws() const override { return true; }

 private:
  Function function_;
  std::size_t cycle_;
  std::uint64_t block_;
  std::size_t ahead_;
};

}  // namespace

Dataset Dataset::interleave(Function function, const InterleaveOptions& options,
                            const std::string& name) const {
  if (!function) throw InvalidArgument("[interleave] needs a function");
  if (options.cycle_length < 1 || options.block_length < 1) {
    throw InvalidArgument(
        fmt::format("[interleave] a cycle of {} with blocks of {}; give 1 or more",
                    options.cycle_length, options.block_length));
  }
  if (options.parallel < 1 && options.parallel != kAutotune) {
    throw InvalidArgument(
        fmt::format("[interleave] parallel is {}; give 1 or more", options.parallel));
  }
  int ahead = options.parallel == kAutotune ? options.cycle_length : options.parallel;
  if (options.parallel == 1) ahead = 0;
  return Dataset(std::make_shared<InterleaveNode>(
      "interleave", node_, std::move(function),
      fmt::format("{}, cycle={}, block={}, parallel={}", name, options.cycle_length,
                  options.block_length, options.parallel),
      static_cast<std::size_t>(options.cycle_length),
      static_cast<std::uint64_t>(options.block_length), static_cast<std::size_t>(ahead)));
}

Dataset Dataset::flat_map(Function function, const std::string& name) const {
  if (!function) throw InvalidArgument("[flat_map] needs a function");
  return Dataset(std::make_shared<InterleaveNode>("flat_map", node_, std::move(function), name, 1,
                                                  std::numeric_limits<std::uint64_t>::max(), 0));
}

}  // namespace plimsoll::data
