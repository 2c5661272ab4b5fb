#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/index_view.h"
#include "data/engine/simple_stage.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

class ShardStage final : public ChoosingStage {
 public:
  ShardStage(StagePtr input, std::uint64_t shards, std::uint64_t index)
      : ChoosingStage(std::move(input), index, shards), shards_(shards), index_(index) {}

 protected:
  Pull choose(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() == before) {
      block_.clear();
      const Pull pulled = input_->next_block(block_, max);
      if (pulled != Pull::ready) return pulled;
      for (Element& element : block_) {
        if (count_++ % shards_ == index_) out.push_back(std::move(element));
      }
    }
    return Pull::ready;
  }

 private:
  std::uint64_t shards_;
  std::uint64_t index_;
  ElementBlock block_;
};

class ShardNode final : public Node, public IndexView {
 public:
  ShardNode(const NodePtr& input, std::int64_t shards, std::int64_t index)
      : Node("shard", fmt::format("{} of {}", index, shards), {input}, input->spec(),
             input->cardinality() < 0 ? input->cardinality()
                                      : (input->cardinality() - index + shards - 1) / shards),
        IndexView(*input),
        shards_(shards),
        index_(index) {}
  bool hands_on() const override { return true; }
  bool ids_are_indices() const override {
    return indexed() != nullptr && shards_ == 1 && inputs()[0]->ids_are_indices();
  }
  std::int64_t size() const override { return cardinality(); }
  const IndexedSource* indexed() const override { return elements_or_null(); }
  const FileSource* files() const override { return files_or_null(); }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<ShardStage>(builder.input(*this), static_cast<std::uint64_t>(shards_),
                                        static_cast<std::uint64_t>(index_));
  }

 protected:
  std::int64_t source_index(std::int64_t index) const override { return index * shards_ + index_; }

 private:
  std::int64_t shards_;
  std::int64_t index_;
};

}  // namespace

Dataset Dataset::shard(std::int64_t shards, std::int64_t index) const {
  if (shards < 1 || index < 0 || index >= shards) {
    throw InvalidArgument(fmt::format("[shard] no shard {} of {}", index, shards));
  }
  const auto below =
      choose_below(*this, [=](const Dataset& files) { return files.shard(shards, index); });
  return below ? *below : Dataset(std::make_shared<ShardNode>(node_, shards, index));
}

}  // namespace plimsoll::data
