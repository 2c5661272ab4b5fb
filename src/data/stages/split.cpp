#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/index_view.h"
#include "data/engine/indexed_stage.h"
#include "data/engine/simple_stage.h"
#include "data/stages/lazy_map.h"
#include "data/stages/permutation.h"

namespace plimsoll::data {
namespace {

/// Keeps the elements of one part as they pass, by their ids.
class SplitStage final : public CountingStage {
 public:
  SplitStage(StagePtr input, const Permutation& draw, std::int64_t first, bool second)
      : CountingStage(std::move(input)), draw_(draw), first_(first), second_(second) {}

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() == before) {
      block_.clear();
      const Pull pulled = input_->next_block(block_, max);
      if (pulled != Pull::ready) return pulled;
      for (Element& element : block_) {
        ++count_;
        const std::int64_t at = draw_.inverse(static_cast<std::int64_t>(element.id));
        if ((at >= first_) == second_) out.push_back(std::move(element));
      }
      block_.clear();
    }
    return Pull::ready;
  }

 private:
  const Permutation draw_;
  const std::int64_t first_;
  const bool second_;
  ElementBlock block_;
};

/// The elements at the beginning of a permutation that the seed alone decides, or the others. Where
/// the input has no index, its elements' ids are those of the source.
class SplitNode final : public Node,
                        public IndexView,
                        public std::enable_shared_from_this<SplitNode> {
 public:
  SplitNode(const NodePtr& input, std::int64_t first, bool second, std::uint64_t seed)
      : Node("split",
             fmt::format("{} and {}, seed={}, part {}", first, input->cardinality() - first, seed,
                         second ? 2 : 1),
             {input}, input->spec(), second ? input->cardinality() - first : first),
        IndexView(*input),
        draw_(input->cardinality(), mix_ids(seed, kKey)),
        first_(first),
        second_(second) {}
  StagePtr make(Builder& builder) const override {
    if (indexed() != nullptr) {
      return std::make_unique<IndexedStage>(shared_from_this(), *this, builder.engine());
    }
    return std::make_unique<SplitStage>(builder.input(*this), draw_, first_, second_);
  }
  bool hands_on() const override { return true; }
  bool ids_are_indices() const override { return indexed() != nullptr; }
  std::int64_t size() const override { return cardinality(); }
  const IndexedSource* indexed() const override { return elements_or_null(); }
  const FileSource* files() const override { return files_or_null(); }
  const FileSource* reads() const override { return inputs()[0]->reads(); }
  bool may_fail() const override { return indexed() != nullptr && elements_may_fail(*inputs()[0]); }

 protected:
  std::int64_t source_index(std::int64_t index) const override {
    return draw_(second_ ? first_ + index : index);
  }

 private:
  static constexpr std::uint64_t kKey = 0x73706C6974;
  Permutation draw_;
  std::int64_t first_;
  bool second_;
};

}  // namespace

std::pair<Dataset, Dataset> Dataset::split(double share, std::uint64_t seed) const {
  if (!(share > 0 && share < 1)) {
    throw InvalidArgument(fmt::format("[split] a share of {}; give one between 0 and 1", share));
  }
  if (node_->is_lazy()) {
    const auto parts = Dataset(node_->inputs().front()).split(share, seed);
    return {*choose_below(*this, [&](const Dataset&) { return parts.first; }),
            *choose_below(*this, [&](const Dataset&) { return parts.second; })};
  }
  const std::int64_t all = node_->cardinality();
  if (all < 0 || (node_->indexed() == nullptr && !node_->ids_are_indices())) {
    throw InvalidArgument(fmt::format(
        "[split] {} gives elements that cannot be told apart by an index; split its input instead, "
        "before anything that leaves out, batches or repeats",
        node_->title()));
  }
  const auto first = static_cast<std::int64_t>(std::llround(share * static_cast<double>(all)));
  if (first == 0 || first == all) {
    throw InvalidArgument(
        fmt::format("[split] {} of {} elements leaves one part empty", share, all));
  }
  return {Dataset(std::make_shared<SplitNode>(node_, first, false, seed)),
          Dataset(std::make_shared<SplitNode>(node_, first, true, seed))};
}

}  // namespace plimsoll::data
