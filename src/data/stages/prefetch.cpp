#include "data/stages/prefetch.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/inbox.h"
#include "data/engine/node.h"
#include "data/engine/pinned_memory.h"

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

/// Chosen depth: one large element to begin with, many small ones.
constexpr Bytes kAheadBytes = MiB(1);
constexpr std::size_t kAheadMost = 256;
/// A chosen depth grows no further than this many large elements.
constexpr std::size_t kLargeMost = 8;
/// Elements are pulled in blocks that take about this long.
constexpr auto kBlockTime = std::chrono::microseconds(50);

/// Two sides: the consumer's strand takes from the queue, the section's own fills it. The queue and
/// the flags beside it are under a mutex; the inbox is the section's alone. Each element carries
/// the position after it, so that save() needs nothing of the section.
class PrefetchStage final : public Stage, public PinnedBatches, private Section {
 public:
  PrefetchStage(Engine& consumer, const std::function<StagePtr(Engine&)>& make, int count,
                bool eager)
      : consumer_(consumer),
        section_(consumer.runtime(), this),
        inbox_(make(section_)),
        eager_(eager),
        count_(count) {}
  ~PrefetchStage() override { section_.retire(); }

  void start(std::uint64_t epoch) override {
    section_.with_own_strand([&] {
      reset();
      inbox_.start(epoch);
      delivered_ = {inbox_.stage().save(), 0};
    });
    if (eager_) section_.kick();
  }
  StatePtr save() const override { return delivered_.position(); }
  void restore(const State& state) override {
    section_.with_own_strand([&] {
      reset();
      delivered_ = {state.inputs.at(0), state.words.at(0)};
      inbox_.restore(state);
    });
    if (eager_) section_.kick();
  }
  std::size_t state_words() const override { return words_; }
  Bytes held() const override {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  bool begins_section() const override { return true; }
  void assemble_in(const std::shared_ptr<PinnedMemory>& memory) override {
    PinnedBatches::offer(inbox_.stage(), memory);
  }
  std::string setting() const override {
    const std::lock_guard lock(mutex_);
    return fmt::format("{} ahead", depth());
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    std::unique_lock lock(mutex_);
    if (queue_.empty() && consumer_.alone()) {
      lock.unlock();
      return pull_alone(out);
    }
    if (queue_.empty()) {
      if (ended_) return Pull::end;
      // Filled before and empty now: more ahead would have spared the wait.
      if (filled_ && count_ == kAutotune && consumer_.demand())
        grown_ = std::min(grown_ + 1, kLargeMost);
      filled_ = false;
      awaited_ = true;
      demand_ = demand_ || consumer_.demand();
      lock.unlock();
      section_.kick();
      return Pull::pending;
    }
    const std::size_t before = out.size();
    std::exception_ptr error;
    while (!queue_.empty() && out.size() - before < max) {
      if (queue_.front().error && out.size() > before) break;
      Made made = std::move(queue_.front());
      queue_.pop_front();
      held_ -= made.bytes;
      delivered_ = std::move(made.after);
      if (made.error) {
        error = std::move(made.error);
        break;
      }
      out.push_back(std::move(made.element));
    }
    const bool room = !ended_ && queue_.size() * 2 <= depth();
    lock.unlock();
    if (room && !consumer_.alone()) section_.kick();
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return Pull::ready;
  }

 private:
  struct Made {
    Element element;
    std::exception_ptr error;
    Inbox::Mark after;
    Bytes bytes = 0;
  };

  /// On the section's strand.
  bool serve() override {
    for (;;) {
      std::size_t room = 0;
      bool demand = false;
      {
        const std::lock_guard lock(mutex_);
        if (ended_) return false;
        if (queue_.size() >= depth()) {
          room_.on();
          filled_ = true;
          return false;
        }
        room_.off(stats_.wait_room_s);
        room = depth() - queue_.size();
        demand = demand_;
      }
      if (section_.should_yield()) return true;
      section_.set_demand(demand);
      const auto begin = Clock::now();
      ElementBlock made;
      std::exception_ptr error;
      Pull filled = Pull::pending;
      try {
        filled = inbox_.fill(std::min(room, block_));
      } catch (const DataError&) {
        error = std::current_exception();
      } catch (const Error&) {  // no memory: tried again when asked for
        section_.set_demand(false);
        const std::lock_guard lock(mutex_);
        grown_ = std::clamp<std::size_t>(queue_.size(), 1, grown_);
        return false;
      } catch (...) {  // a pool's thread has nobody to catch what a user's function threw
        error = std::make_exception_ptr(DataError(
            "[prefetch] a function of the pipeline threw something that is not a std::exception"));
      }
      section_.set_demand(false);
      if (filled == Pull::pending && !error) return false;
      hand_over(filled, std::move(error));
      const auto took = Clock::now() - begin;
      if (took < kBlockTime) block_ = std::min(block_ * 2, kAheadMost);
      if (took > 2 * kBlockTime) block_ = std::max<std::size_t>(block_ / 2, 1);
    }
  }

  void hand_over(Pull filled, std::exception_ptr error) {
    bool awaited = false;
    {
      const std::lock_guard lock(mutex_);
      if (error) {
        queue_.push_back({Element(), std::move(error), inbox_.mark(), 0});
      } else if (filled == Pull::end) {
        ended_ = true;
      } else {
        while (inbox_.ready() > 0) {
          Made made{std::move(inbox_.front()), nullptr, {}, 0};
          inbox_.pop();
          made.after = inbox_.mark();
          made.bytes = made.element.nbytes();
          held_ += made.bytes;
          bytes_ = made.bytes;
          queue_.push_back(std::move(made));
        }
      }
      words_ = inbox_.state_words();
      awaited = std::exchange(awaited_, false);
      demand_ = false;
    }
    inbox_.forget(inbox_.taken());
    if (awaited) consumer_.kick();
  }

  /// The caller runs everything; the section's strand is nobody's.
  Pull pull_alone(ElementBlock& out) {
    if (ended_) return Pull::end;
    section_.set_demand(true);
    Pull filled = Pull::pending;
    try {
      filled = inbox_.fill(1);
    } catch (const DataError&) {
      section_.set_demand(false);
      delivered_ = inbox_.mark();
      inbox_.forget(inbox_.taken());
      throw;
    } catch (...) {
      section_.set_demand(false);
      throw;
    }
    section_.set_demand(false);
    if (filled == Pull::end) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    if (filled != Pull::ready) return filled;
    out.push_back(std::move(inbox_.front()));
    inbox_.pop();
    delivered_ = inbox_.mark();
    inbox_.forget(inbox_.taken());
    return filled;
  }

  std::size_t depth() const {
    if (count_ != kAutotune) return static_cast<std::size_t>(count_);
    const auto small = static_cast<std::size_t>(kAheadBytes / std::max<Bytes>(bytes_, 1));
    return std::clamp<std::size_t>(small, grown_, kAheadMost);
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    held_ = 0;
    ended_ = false;
    awaited_ = false;
    demand_ = false;
    filled_ = false;
    room_.drop();
    words_ = inbox_.state_words();
  }

  Engine& consumer_;
  Engine section_;

  // The section's.
  Inbox inbox_;
  std::size_t block_ = 1;

  // The consumer's.
  Inbox::Mark delivered_;

  const bool eager_;
  mutable std::mutex mutex_;
  const int count_;
  std::deque<Made> queue_;
  Bytes held_ = 0;
  Bytes bytes_ = kAheadBytes;  ///< of the last element
  std::size_t grown_ = 1;
  std::atomic<std::size_t> words_ = 1;
  bool ended_ = false;
  bool awaited_ = false;  ///< the consumer found the queue empty
  bool demand_ = false;   ///< and waits for it itself
  bool filled_ = false;   ///< was full since it was last empty
  Stopwatch room_;
};

class PrefetchNode final : public Node {
 public:
  PrefetchNode(NodePtr input, int count)
      : Node("prefetch", count == kAutotune ? "auto" : fmt::format("{}", count), {input},
             input->spec(), input->cardinality()),
        count_(count) {}
  bool hands_on() const override { return true; }
  bool keeps_ids() const override { return true; }
  StagePtr make(Builder& builder) const override {
    if (count_ == 0) return builder.input(*this);
    return make_prefetch(
        builder.engine(), [&](Engine& section) { return builder.input(*this, section); }, count_,
        false);
  }

 private:
  int count_;
};

}  // namespace

StagePtr make_prefetch(Engine& consumer, const std::function<StagePtr(Engine& section)>& make,
                       int count, bool eager) {
  return std::make_unique<PrefetchStage>(consumer, make, count, eager);
}

Dataset Dataset::prefetch(int count) const {
  if (count < 0 && count != kAutotune) {
    throw InvalidArgument(fmt::format("[prefetch] {} elements; give 0 or more", count));
  }
  return Dataset(std::make_shared<PrefetchNode>(node_, count));
}

}  // namespace plimsoll::data
