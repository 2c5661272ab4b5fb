#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/indexed_stage.h"
#include "data/engine/node.h"
#include "data/stages/lazy_map.h"
#include "data/stages/permutation.h"
#include "data/stages/shuffle_stage.h"

namespace plimsoll::data {
namespace {

/// The whole set in a random order, by index.
class PermutedStage final : public IndexedStage {
 public:
  PermutedStage(NodePtr keep, const IndexedSource& source, Engine& engine, std::uint64_t seed,
                bool reshuffle)
      : IndexedStage(std::move(keep), source, engine),
        seed_(seed),
        reshuffle_(reshuffle),
        permutation_(source.size(), seed) {}
  void start(std::uint64_t epoch) override {
    go_to(0);
    set_epoch(epoch);
  }
  StatePtr save() const override { return make_state({epoch_, static_cast<std::uint64_t>(at_)}); }
  void restore(const State& state) override {
    set_epoch(state.words.at(0));
    go_to(static_cast<std::int64_t>(state.words.at(1)));
  }

 protected:
  std::int64_t index_of(std::int64_t position) const override { return permutation_(position); }

 private:
  void set_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
    permutation_ = Permutation(source_.size(), mix_ids(seed_, reshuffle_ ? epoch : 0));
  }
  const std::uint64_t seed_;
  const bool reshuffle_;
  std::uint64_t epoch_ = 0;
  Permutation permutation_;
};

bool whole_set(const ShuffleOptions& options) {
  return options.elements == kWholeSet && options.bytes == 0;
}

std::string window_text(const ShuffleOptions& options) {
  if (whole_set(options)) return "whole set";
  if (options.bytes == 0) return std::to_string(options.elements);
  if (options.elements == 0) return fmt::format("bytes={}", options.bytes);
  return fmt::format("{}, bytes={}", options.elements, options.bytes);
}

class ShuffleNode final : public Node {
 public:
  ShuffleNode(const NodePtr& input, const ShuffleOptions& options)
      : Node("shuffle",
             fmt::format("{}, seed={}, reshuffle={}", window_text(options),
                         options.seed ? std::to_string(*options.seed) : "pipeline",
                         options.reshuffle_each_iteration),
             {input}, input->spec(), input->cardinality()),
        options_(options) {}
  bool hands_on() const override { return true; }
  bool keeps_ids() const override { return true; }
  // Of the whole set they are indices of the input, whatever ids that gives.
  bool ids_are_indices() const override {
    return whole_set(options_) || inputs()[0]->ids_are_indices();
  }
  // Without a seed of its own, the stage's place in the pipeline decides.
  bool order_moves() const override {
    return options_.reshuffle_each_iteration || !options_.seed.has_value();
  }
  bool draws() const override { return order_moves(); }
  bool may_fail() const override { return whole_set(options_) && elements_may_fail(*inputs()[0]); }
  StagePtr make(Builder& builder) const override {
    Engine& engine = builder.engine();
    const std::uint64_t seed =
        options_.seed ? mix_ids(*options_.seed, 1) : mix_ids(engine.seed(), builder.number());
    const bool reshuffle = options_.reshuffle_each_iteration;
    if (whole_set(options_)) {
      return std::make_unique<PermutedStage>(inputs()[0], *inputs()[0]->indexed(), engine, seed,
                                             reshuffle);
    }
    if (options_.spill_limit > 0) SpillFile::check_folder(options_.spill_folder);
    const Bytes paid = options_.bytes > 0 ? 0 : slots() * slot_bytes();
    return std::make_unique<ShuffleStage>(builder.input(*this), engine, title(), spec(), options_,
                                          seed,
                                          engine.budget().charge(Tag::shuffle, title(), paid));
  }
  std::string settings() const override {
    return options_.spill_limit > 0 || whole_set(options_) ? "" : "no spill";
  }
  Bytes minimum(int /*threads*/) const override {
    if (whole_set(options_)) return 0;
    if (options_.bytes > 0) return 0;  // the elements' sizes say how many there will be
    Bytes each = 0;
    for (const TensorSpec& component : spec().components) {
      if (component.dims && !component.dims->empty()) each += component.nbytes().value_or(0);
    }
    // The one that comes and the one that goes; the rest may lie in a file.
    const Bytes all = slots() * each;
    const Bytes kept = all > options_.spill_limit ? all - options_.spill_limit : 0;
    return slots() * slot_bytes() + std::max(kept, std::min(all, 2 * each));
  }

 private:
  Bytes slots() const {
    const std::int64_t all = cardinality();
    return static_cast<Bytes>(all >= 0 ? std::min(all, options_.elements) : options_.elements);
  }
  Bytes slot_bytes() const { return ShuffleWindow::slot_bytes(spec(), options_); }
  ShuffleOptions options_;
};

}  // namespace

Dataset Dataset::shuffle(std::int64_t window) const {
  return shuffle(ShuffleOptions{.elements = window});
}

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  if (options.elements < 0 || options.elements > std::int64_t{0xFFFFFFFF}) {
    throw InvalidArgument(fmt::format("[shuffle] a window of {} elements", options.elements));
  }
  // A window in bytes counts those of the elements, and has to have them.
  if (options.bytes == 0) {
    const auto below =
        choose_below(*this, [&](const Dataset& files) { return files.shuffle(options); });
    if (below) return *below;
  }
  if (whole_set(options) && node_->indexed() == nullptr) {
    throw InvalidArgument(fmt::format(
        "[shuffle] the whole set can be shuffled only where elements have an index, and {} gives "
        "them in order; give a window, as shuffle(1024), or shuffle what it is made of",
        node_->title()));
  }
  return Dataset(std::make_shared<ShuffleNode>(node_, options));
}

}  // namespace plimsoll::data
