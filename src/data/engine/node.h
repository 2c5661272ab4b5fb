#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>

#include "data/engine/stage.h"
#include "data/sources/file_source.h"

namespace plimsoll::data {

class Engine;
class Builder;
class NeedsScan;

/// Elements by index; what a perfect shuffle needs of its source. Called on the strand, but for
/// get() where the source says so.
class IndexedSource {
 public:
  virtual ~IndexedSource() = default;
  virtual std::int64_t size() const = 0;
  /// Without an id: the caller sets it to `index`.
  virtual Element get(std::int64_t index, Engine& engine) const = 0;
  /// True if get() may be called by any thread, several at a time, and is worth it for some.
  virtual bool reads_in_any_thread() const { return false; }
  /// Bytes that get() takes for an element which is worth a thread; 0 for others.
  virtual Bytes read_bytes(std::int64_t /*index*/) const { return 0; }
};

/// One stage of a Dataset: what it is called, its parameters as text, its inputs, what it gives,
/// and how to run it. Immutable.
class Node {
 public:
  Node(std::string kind, std::string parameters, std::vector<NodePtr> inputs, ElementSpec spec,
       std::int64_t cardinality)
      : kind_(std::move(kind)),
        parameters_(std::move(parameters)),
        inputs_(std::move(inputs)),
        spec_(std::move(spec)),
        cardinality_(cardinality) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  const std::string& kind() const { return kind_; }
  /// "map(decode, parallel=4)": parameters and settings.
  std::string title() const;
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  const ElementSpec& spec() const { return spec_; }
  std::int64_t cardinality() const { return cardinality_; }
  void write_signature(std::string& out, int depth) const;

  /// Settings change how the stage runs but not what it gives, so they are no part of the signature
  /// and a position may be restored under others.
  virtual std::string settings() const { return {}; }
  /// More of the signature: lines below the stage's own.
  virtual std::string details() const { return {}; }

  virtual StagePtr make(Builder& builder) const = 0;
  /// Bytes the stage holds at least, as the specs say, so that `threads` need not wait for one
  /// another.
  virtual Bytes minimum(int /*threads*/) const { return 0; }
  /// This as a source by index; null if it is none.
  virtual const IndexedSource* indexed() const { return nullptr; }
  /// The files that its elements name, one each; null if they do not.
  virtual const FileSource* files() const { return nullptr; }
  /// The files that this source gives or reads; null if it has none.
  virtual const FileSource* reads() const { return files(); }
  /// True if each of its elements is one of its inputs', unchanged: it may only leave out, repeat
  /// or move some.
  virtual bool hands_on() const { return false; }
  /// True if its elements are as many as its input's and have their ids.
  virtual bool keeps_ids() const { return false; }
  /// True if the ids of its elements are 0 to cardinality - 1, in whatever order.
  virtual bool ids_are_indices() const {
    return keeps_ids() ? inputs()[0]->ids_are_indices() : inputs().empty() && indexed() != nullptr;
  }
  /// True if it gives its input in an order that another epoch or pipeline need not share.
  virtual bool order_moves() const { return false; }
  /// What is known of the memory that its elements will take; null if nothing can be.
  virtual NeedsScan* needs() const { return nullptr; }
  /// The program that it maps its input by; null if it does not.
  virtual const Program* program() const { return nullptr; }
  /// True if that program has not to run before stages that only choose among elements: they may
  /// as well choose among its input's.
  virtual bool is_lazy() const { return false; }
  /// True if what it makes of its inputs depends on the pipeline's seed or on the epoch.
  virtual bool draws() const { return false; }
  /// A checksum of contents that are part of the description and not of the signature.
  virtual std::uint64_t content() const { return 0; }
  /// True for stages whose elements may fail: these are wrapped when errors are skipped.
  virtual bool may_fail() const { return false; }
  /// False where the stream depends on timing, so that a position means nothing.
  virtual bool can_be_saved() const { return true; }

 private:
  std::string kind_;
  std::string parameters_;
  std::vector<NodePtr> inputs_;
  ElementSpec spec_;
  std::int64_t cardinality_;
};

/// True if elements that are taken from `node` by index may fail: its own, or those of what it is
/// made of, whose stages are not there to skip them.
bool elements_may_fail(const Node& node);
/// The scans of `node` and what it is made of, each once.
void find_scans(const Node& node, std::vector<NeedsScan*>& found);
/// The sources whose files reach `node`'s consumer as they are.
void find_files(const Node& node, std::vector<const FileSource*>& found);

/// Makes the stages of a pipeline from its nodes, inputs first.
class Builder {
 public:
  explicit Builder(Engine& engine) : engine_(&engine) {}
  /// For datasets that a function gives while running: their stages come and go, so they are not
  /// among the pipeline's. `base` is the number of the stage that asks. Those that run ahead on
  /// `engine`, which outlives them, are appended to `ahead` for that stage to pump; null: `engine`
  /// goes with them.
  Builder(Engine& engine, std::uint64_t base, std::vector<Stage*>* ahead)
      : engine_(&engine), home_(&engine), base_(base), nested_(true), ahead_(ahead) {}

  /// The section that is being built.
  Engine& engine() { return *engine_; }
  /// True where stages come and go while the pipeline runs.
  bool nested() const { return nested_; }
  /// All stages made, inputs before those that use them.
  const std::vector<Stage*>& stages() const { return stages_; }
  /// Tells stages apart in random draws: it comes from their place in the pipeline.
  std::uint64_t number() const { return number_; }
  /// The running input `index` of `node`, for node.make().
  StagePtr input(const Node& node, std::size_t index = 0) { return build(node.inputs()[index]); }
  /// The same in a section of its own.
  StagePtr input(const Node& node, Engine& section);
  StagePtr build(const NodePtr& node);

 private:
  Engine* engine_;
  const Engine* const home_ = nullptr;
  const std::uint64_t base_ = 0;
  const bool nested_ = false;
  std::vector<Stage*>* const ahead_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t number_ = 0;
  int depth_ = 0;
  std::vector<Stage*> stages_;
  std::vector<std::vector<const Stage*>> made_{{}};
};

}  // namespace plimsoll::data
