#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/node.h"
#include "data/prefetch.h"
#include "data/simple_stage.h"

namespace plimsoll::data {
namespace {

/// Copies each element's numbers to a device. One at a time: what does not fit there stays in the
/// inbox.
class TransferStage final : public OneInputStage {
 public:
  TransferStage(StagePtr input, const Engine& engine, Device device, const std::string& title)
      : OneInputStage(std::move(input)),
        device_(std::move(device)),
        options_(engine.tensor_options(Tag::prefetch, title)) {
    options_.account = device_.budget().account(Tag::prefetch, title);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t /*max*/) override {
    inbox_.forget(inbox_.taken());
    const Pull filled = inbox_.fill(1);
    if (filled != Pull::ready) return filled;
    out.push_back(transferred(inbox_.front()));
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

  const Device device_;
  TensorOptions options_;
};

class PrefetchToNode final : public Node {
 public:
  PrefetchToNode(NodePtr input, Device device, int count)
      : Node("prefetch_to", "", {input}, input->spec(), input->cardinality()),
        device_(std::move(device)),
        count_(count) {}
  StagePtr make(Builder& builder) const override {
    require_room();
    const auto transfer = [&](StagePtr input, const Engine& engine) {
      return std::make_unique<TransferStage>(std::move(input), engine, device_, title());
    };
    if (!builder.may_run_ahead() || count_ == 0) {
      return transfer(builder.input(*this), builder.engine());
    }
    return make_prefetch(
        builder.engine(),
        [&](Engine& section) { return transfer(builder.input(*this, section), section); }, count_,
        false);
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
