#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine.h"
#include "data/inbox.h"
#include "data/node.h"

namespace plimsoll::data {
namespace {

/// Chosen depth: a few large elements, many small ones.
constexpr Bytes kAheadBytes = MiB(1);
constexpr std::size_t kAheadMost = 256;
constexpr std::size_t kAheadLeast = 2;

class PrefetchStage final : public Stage {
 public:
  PrefetchStage(StagePtr input, Engine& engine, int count)
      : inbox_(std::move(input)), engine_(engine), count_(count) {}

  void start(std::uint64_t epoch) override {
    reset();
    inbox_.start(epoch);
  }
  StatePtr save() const override { return inbox_.position(delivered_); }
  void restore(const State& state) override {
    reset();
    inbox_.restore(state);
  }
  std::size_t state_words() const override { return inbox_.state_words(); }
  bool runs_ahead() const override { return true; }

  void pump() override {
    while (!ended_ && queue_.size() < depth() && !engine_.should_yield()) {
      try {
        const Pull filled = inbox_.fill(1);
        ended_ = filled == Pull::end;
        if (filled != Pull::ready) return;
        take();
      } catch (const DataError&) {
        queue_.push_back({Element(), std::current_exception(), inbox_.taken()});
      } catch (const Error&) {  // no memory: tried again when there is room, or asked for
        return;
      }
    }
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (queue_.empty()) {
      if (ended_) return Pull::end;
      Pull filled = Pull::pending;
      try {
        filled = inbox_.fill(1);
      } catch (const DataError&) {
        delivered_ = inbox_.taken();
        throw;
      }
      ended_ = filled == Pull::end;
      if (filled != Pull::ready) return filled;
      take();
    }
    const std::size_t before = out.size();
    while (!queue_.empty() && out.size() - before < max) {
      if (queue_.front().error && out.size() > before) break;
      Made made = std::move(queue_.front());
      queue_.pop_front();
      delivered_ = made.unit;
      inbox_.forget(delivered_);
      if (made.error) std::rethrow_exception(made.error);
      out.push_back(std::move(made.element));
    }
    return Pull::ready;
  }

 private:
  struct Made {
    Element element;
    std::exception_ptr error;
    std::uint64_t unit = 0;
  };

  void take() {
    Made made{std::move(inbox_.front()), nullptr, 0};
    bytes_ = made.element.nbytes();
    inbox_.pop();
    made.unit = inbox_.taken();
    queue_.push_back(std::move(made));
  }
  std::size_t depth() const {
    if (count_ != kAutotune) return static_cast<std::size_t>(count_);
    return static_cast<std::size_t>(
        std::clamp<Bytes>(kAheadBytes / std::max<Bytes>(bytes_, 1), kAheadLeast, kAheadMost));
  }
  void reset() {
    queue_.clear();
    delivered_ = 0;
    ended_ = false;
  }

  Inbox inbox_;
  Engine& engine_;
  const int count_;
  std::deque<Made> queue_;
  std::uint64_t delivered_ = 0;
  Bytes bytes_ = kAheadBytes;
  bool ended_ = false;
};

class PrefetchNode final : public Node {
 public:
  PrefetchNode(NodePtr input, int count)
      : Node("prefetch", count == kAutotune ? "auto" : fmt::format("{}", count), {input},
             input->spec(), input->cardinality()),
        count_(count) {}
  StagePtr make(Builder& builder) const override {
    StagePtr input = builder.input(*this);
    if (!builder.may_run_ahead() || count_ == 0) return input;
    return std::make_unique<PrefetchStage>(std::move(input), builder.engine(), count_);
  }

 private:
  int count_;
};

}  // namespace

Dataset Dataset::prefetch(int count) const {
  if (count < 0 && count != kAutotune) {
    throw InvalidArgument(fmt::format("[prefetch] {} elements; give 0 or more", count));
  }
  return Dataset(std::make_shared<PrefetchNode>(node_, count));
}

}  // namespace plimsoll::data
