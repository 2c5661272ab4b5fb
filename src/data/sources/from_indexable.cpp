#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/indexed_stage.h"

namespace plimsoll::data {
namespace {

class IndexableNode final : public IndexedNode {
 public:
  explicit IndexableNode(Indexable set)
      : IndexedNode("from_indexable", fmt::format("{}, size={}", set.name, set.size), set.spec,
                    set.size),
        get_(std::move(set.get)) {}
  Element get(std::int64_t index, Engine& /*engine*/) const override { return get_(index); }
  bool may_fail() const override { return true; }

 private:
  std::function<Element(std::int64_t)> get_;
};

}  // namespace

Dataset Dataset::from_indexable(Indexable set) {
  if (set.size < 0 || !set.get) {
    throw InvalidArgument("[from_indexable] needs a size of 0 or more and a function");
  }
  return Dataset(std::make_shared<IndexableNode>(std::move(set)));
}

}  // namespace plimsoll::data
