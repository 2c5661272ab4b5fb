#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"
#include "data/engine/staging_ring.h"
#include "data/stages/prefetch.h"

namespace plimsoll::data {
namespace {

/// Elements on their way to a device at once; more would only wait for the same copy engine.
constexpr int kMostOnTheWay = 4;

/// Copies each element's numbers to a device. One at a time: what does not fit there stays in the
/// inbox.
class TransferStage final : public OneInputStage {
 public:
  TransferStage(StagePtr input, const Engine& engine, Device device, int count,
                const std::string& title)
      : OneInputStage(std::move(input)),
        device_(std::move(device)),
        options_(engine.tensor_options(Tag::prefetch, title)) {
    options_.account = device_.budget().account(Tag::prefetch, title);
    if (count != 1) {
      remedy_ = Budget::remedy("prefetch fewer elements to the device", options_.account, 0.5);
    }
    if (device_.capabilities().host_memory) return;
    engine.runtime().gives_way = true;
    const int slots = count == kAutotune ? 2 : std::clamp(count, 1, kMostOnTheWay);
    ring_.emplace(engine, device_, static_cast<std::size_t>(slots), title, options_);
    PinnedBatches::offer(inbox_.stage(), ring_->memory());
  }

  void start(std::uint64_t epoch) override {
    OneInputStage::start(epoch);
    let_go();
  }
  void restore(const State& state) override {
    OneInputStage::restore(state);
    let_go();
    // An idle pipeline holds nothing there either.
    if (ring_) device_.arena().trim();
  }
  Bytes relieve() override { return let_go(); }
  bool can_relieve() const override { return ring_.has_value(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t /*max*/) override {
    inbox_.forget(inbox_.taken());
    const Pull filled = inbox_.fill(1);
    if (filled == Pull::end) let_go();
    if (filled != Pull::ready) return filled;
    out.push_back(ring_ ? ring_->send(inbox_.front()) : transferred(inbox_.front()));
    inbox_.front().clear();
    inbox_.pop();
    return Pull::ready;
  }

 private:
  Element transferred(const Element& element) const {
    Element result;
    for (const Value& value : element) {
      const bool stays = value.is_scalar() || value.dtype() == DType::bytes;
      result.push_back(stays ? value : Value(value.tensor().clone(device_, options_)));
    }
    result.id = element.id;
    return result;
  }

  Bytes let_go() { return ring_ ? ring_->release() : 0; }

  const Device device_;
  TensorOptions options_;
  RemedyHandle remedy_;
  std::optional<StagingRing> ring_;
};

class PrefetchToNode final : public Node {
 public:
  PrefetchToNode(const NodePtr& input, Device device, int count)
      : Node("prefetch_to", "", {input}, input->spec(), input->cardinality()),
        device_(std::move(device)),
        count_(count) {}
  StagePtr make(Builder& builder) const override {
    require_room();
    const auto transfer = [&](StagePtr input, const Engine& engine) {
      return std::make_unique<TransferStage>(std::move(input), engine, device_, count_, title());
    };
    if (builder.nested() || count_ == 0) {
      return transfer(builder.input(*this), builder.engine());
    }
    return make_prefetch(
        builder.engine(),
        [&](Engine& section) {
          auto stage = transfer(builder.input(*this, section), section);
          if (stage->can_relieve()) section.add_relief(*stage);
          return stage;
        },
        count_, false);
  }
  std::string settings() const override {
    return fmt::format("{}{}", device_.name(),
                       count_ == kAutotune ? "" : fmt::format(", {}", count_));
  }

 private:
  void require_room() const {
    Bytes needed = 0;
    for (const TensorSpec& component : spec().components) {
      if (component.dims && !component.dims->empty()) needed += component.nbytes().value_or(0);
    }
    // The arena stands on the device's own budget, which counts its pages.
    const ArenaStats stats = device_.arena().stats();
    const Bytes there =
        device_.budget().available() + (stats.mapped - std::min(stats.mapped, stats.live));
    if (needed <= there) return;
    throw BudgetTooSmall(fmt::format(
        "[prefetch_to] an element takes {} ({} bytes) on {}, which has {} ({} bytes); raise its "
        "limit, or use smaller batches",
        format_bytes(needed), needed, device_.name(), format_bytes(there), there));
  }

  Device device_;
  int count_;
};

}  // namespace

Dataset Dataset::prefetch_to(const Device& device, int count) const {
  if (count < 0 && count != kAutotune) {
    throw InvalidArgument(fmt::format("[prefetch_to] {} elements; give 0 or more", count));
  }
  return Dataset(std::make_shared<PrefetchToNode>(node_, device, count));
}

}  // namespace plimsoll::data
