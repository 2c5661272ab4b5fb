#pragma once

#include <memory>

#include "data/engine/engine.h"
#include "data/engine/node.h"

namespace plimsoll::data {

/// The elements of a source by index, in order or as a permutation.
class IndexedStage : public Stage {
 public:
  /// `keep` owns `source`.
  IndexedStage(NodePtr keep, const IndexedSource& source, Engine& engine)
      : keep_(std::move(keep)), source_(source), engine_(engine) {}

  void start(std::uint64_t /*epoch*/) override { at_ = 0; }
  StatePtr save() const override { return make_state({static_cast<std::uint64_t>(at_)}); }
  void restore(const State& state) override { at_ = static_cast<std::int64_t>(state.words.at(0)); }

 protected:
  virtual std::int64_t index_of(std::int64_t position) const { return position; }
  /// The source's element `index`, which comes after those of lower positions.
  virtual Element fetch(std::int64_t index) { return source_.get(index, engine_); }
  Pull pull(ElementBlock& out, std::size_t max) override;

  NodePtr keep_;
  const IndexedSource& source_;
  Engine& engine_;
  std::int64_t at_ = 0;
};

/// A node that is a source by index. Its stage is an IndexedStage.
class IndexedNode : public Node,
                    public IndexedSource,
                    public std::enable_shared_from_this<IndexedNode> {
 public:
  IndexedNode(std::string kind, std::string parameters, ElementSpec spec, std::int64_t count)
      : Node(std::move(kind), std::move(parameters), {}, std::move(spec), count) {}
  std::int64_t size() const override { return cardinality(); }
  const IndexedSource* indexed() const override { return this; }
  StagePtr make(Builder& builder) const override;
};

}  // namespace plimsoll::data
