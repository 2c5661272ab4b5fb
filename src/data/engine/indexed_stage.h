#pragma once

#include <memory>

#include "data/engine/engine.h"
#include "data/engine/node.h"
#include "data/engine/read_ahead.h"

namespace plimsoll::data {

/// The elements of a source by index, in order or as a permutation.
class IndexedStage : public Stage {
 public:
  /// `keep` owns `source`.
  IndexedStage(NodePtr keep, const IndexedSource& source, Engine& engine)
      : keep_(std::move(keep)),
        source_(source),
        engine_(engine),
        count_(source.size()),
        ahead_(keep_, source, engine),
        looks_ahead_(engine.threads() > 1 && source.reads_in_any_thread()) {}

  void start(std::uint64_t /*epoch*/) override { go_to(0); }
  StatePtr save() const override { return make_state({static_cast<std::uint64_t>(at_)}); }
  void restore(const State& state) override { go_to(static_cast<std::int64_t>(state.words.at(0))); }
  bool has_tasks() const override { return looks_ahead_; }
  Bytes held() const override { return ahead_.held(); }
  bool narrow(std::uint64_t first, std::uint64_t step) override;

 protected:
  /// The source's index of an element by its position in the order that the stage gives them.
  virtual std::int64_t index_of(std::int64_t position) const { return position; }
  /// The source's element `index`, which comes after those of lower positions.
  virtual Element fetch(std::int64_t index) { return source_.get(index, engine_); }
  Pull pull(ElementBlock& out, std::size_t max) override;
  void go_to(std::int64_t position) {
    at_ = position;
    ahead_.clear();
  }

  NodePtr keep_;
  const IndexedSource& source_;
  Engine& engine_;
  std::int64_t at_ = 0;  ///< of those that it gives

 private:
  void read_ahead();
  Pull pull_here(ElementBlock& out, std::size_t max);
  /// The index of the `at`-th of those that it gives.
  std::int64_t chosen(std::int64_t at) const { return index_of(first_ + at * step_); }

  std::int64_t first_ = 0;  ///< position of the first that it gives, and from one to the next
  std::int64_t step_ = 1;
  std::int64_t count_;
  ReadAhead ahead_;
  const bool looks_ahead_;
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
