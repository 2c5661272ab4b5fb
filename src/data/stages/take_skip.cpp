#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/index_view.h"
#include "data/engine/simple_stage.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

constexpr std::size_t kDropBlock = 256;
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

class TakeStage final : public CountingStage {
 public:
  TakeStage(StagePtr input, std::uint64_t most) : CountingStage(std::move(input)), most_(most) {}
  bool offer(Placement& placement) override { return input_->offer(placement); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (count_ >= most_) return Pull::end;
    const std::size_t before = out.size();
    const Pull pulled = input_->next_block(out, std::min<std::uint64_t>(max, most_ - count_));
    count_ += out.size() - before;
    return pulled;
  }

 private:
  std::uint64_t most_;
};

class SkipStage final : public ChoosingStage {
 public:
  SkipStage(StagePtr input, std::uint64_t first)
      : ChoosingStage(std::move(input), first, 1), first_(first) {}

 protected:
  Pull choose(ElementBlock& out, std::size_t max) override {
    if (first_ == kAll) return Pull::end;  // of an endless input, too
    while (count_ < first_) {
      dropped_.clear();
      const Pull pulled =
          input_->next_block(dropped_, std::min<std::uint64_t>(kDropBlock, first_ - count_));
      if (pulled != Pull::ready) return pulled;
      count_ += dropped_.size();
      dropped_.clear();
    }
    return input_->next_block(out, max);
  }

 private:
  std::uint64_t first_;
  ElementBlock dropped_;
};

std::uint64_t bound(std::int64_t count) {
  return count < 0 ? kAll : static_cast<std::uint64_t>(count);
}

std::int64_t cardinality_after(const Node& input, bool take, std::int64_t count) {
  const std::int64_t all = input.cardinality();
  if (all == kUnknown) return take && count == 0 ? 0 : kUnknown;
  if (take) return count < 0 ? all : all == kInfinite ? count : std::min(all, count);
  if (all == kInfinite) return count < 0 ? 0 : kInfinite;
  return count < 0 ? 0 : std::max<std::int64_t>(0, all - count);
}

class TakeSkipNode final : public Node, public IndexView {
 public:
  TakeSkipNode(const NodePtr& input, bool take, std::int64_t count)
      : Node(take ? "take" : "skip", fmt::format("{}", count), {input}, input->spec(),
             cardinality_after(*input, take, count)),
        IndexView(*input),
        take_(take),
        count_(count) {}
  bool hands_on() const override { return true; }
  // What has an index comes in its order.
  bool ids_are_indices() const override {
    return indexed() != nullptr && (take_ || count_ == 0) && inputs()[0]->ids_are_indices();
  }
  std::int64_t size() const override { return cardinality(); }
  const IndexedSource* indexed() const override { return elements_or_null(); }
  const FileSource* files() const override { return files_or_null(); }
  StagePtr make(Builder& builder) const override {
    if (take_) return std::make_unique<TakeStage>(builder.input(*this), bound(count_));
    return std::make_unique<SkipStage>(builder.input(*this), bound(count_));
  }

 protected:
  std::int64_t source_index(std::int64_t index) const override {
    return take_ ? index : index + count_;
  }

 private:
  bool take_;
  std::int64_t count_;
};

Dataset make(const NodePtr& input, bool take, std::int64_t count) {
  if (count < -1) {
    throw InvalidArgument(fmt::format("[{}] a count of {}; give 0 or more, or -1 for all",
                                      take ? "take" : "skip", count));
  }
  const auto below = choose_below(
      Dataset(input), [=](const Dataset& files) { return make(files.node(), take, count); });
  return below ? *below : Dataset(std::make_shared<TakeSkipNode>(input, take, count));
}

}  // namespace

Dataset Dataset::take(std::int64_t count) const { return make(node_, true, count); }
Dataset Dataset::skip(std::int64_t count) const { return make(node_, false, count); }

}  // namespace plimsoll::data
