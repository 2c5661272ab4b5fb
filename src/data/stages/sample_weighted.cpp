#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/indexed_stage.h"
#include "data/engine/node.h"
#include "data/records/crc32c.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

/// Draws an index with its weight in constant time: each column holds an index and what it shares
/// the column with.
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights)
      : share_(weights.size()), other_(weights.size()) {
    double total = 0;
    for (const double weight : weights) total += weight;
    const double mean = total / static_cast<double>(weights.size());
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    std::vector<double> rest(weights.size());
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      rest[i] = weights[i] / mean;
      other_[i] = i;
      (rest[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t less = small.back();
      const std::uint32_t more = large.back();
      small.pop_back();
      share_[less] = static_cast<float>(rest[less]);
      other_[less] = more;
      rest[more] -= 1 - rest[less];
      if (rest[more] < 1) {
        large.pop_back();
        small.push_back(more);
      }
    }
    for (const std::uint32_t i : small) share_[i] = weights[i] > 0 ? 1.0F : share_[i];
    for (const std::uint32_t i : large) share_[i] = 1;
  }
  std::int64_t draw(std::uint64_t bits) const {
    const auto column = static_cast<std::size_t>((bits >> 32) * share_.size() >> 32);
    const float at = static_cast<float>(bits & 0xFFFFFF) * 0x1p-24F;
    return at < share_[column] ? static_cast<std::int64_t>(column) : other_[column];
  }
  Bytes nbytes() const {
    return share_.capacity() * sizeof(float) + other_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<float> share_;
  std::vector<std::uint32_t> other_;
};

/// Element i of the set that is drawn is any of the source's: what is drawn decides.
class DrawnSource final : public IndexedSource {
 public:
  DrawnSource(const IndexedSource& source, std::int64_t count) : source_(source), count_(count) {}
  std::int64_t size() const override { return count_; }
  Element get(std::int64_t index, Engine& engine) const override {
    return source_.get(index, engine);
  }
  bool reads_in_any_thread() const override { return source_.reads_in_any_thread(); }
  Bytes read_bytes(std::int64_t index) const override { return source_.read_bytes(index); }

 private:
  const IndexedSource& source_;
  std::int64_t count_;
};

class WeightedStage final : public IndexedStage {
 public:
  WeightedStage(NodePtr keep, const IndexedSource& source, Engine& engine, const AliasTable& table,
                std::uint64_t seed)
      : IndexedStage(std::move(keep), source, engine),
        table_(table),
        seed_(seed),
        charge_(engine.budget().charge(Tag::input, "sample_weighted", table.nbytes())) {}
  void start(std::uint64_t epoch) override {
    go_to(0);
    epoch_ = epoch;
  }
  StatePtr save() const override { return make_state({epoch_, static_cast<std::uint64_t>(at_)}); }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    go_to(static_cast<std::int64_t>(state.words.at(1)));
  }

  // Ids come from positions.
  bool narrow(std::uint64_t /*first*/, std::uint64_t /*step*/) override { return false; }

 protected:
  std::int64_t index_of(std::int64_t position) const override {
    return table_.draw(mix_ids(mix_ids(seed_, epoch_), static_cast<std::uint64_t>(position)));
  }
  /// An element that is drawn twice is two elements to the stages that follow.
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    const std::int64_t first = at_;
    const Pull pulled = IndexedStage::pull(out, max);
    for (std::size_t i = before; i < out.size(); ++i) {
      out[i].id = mix_ids(out[i].id, static_cast<std::uint64_t>(first) + (i - before));
    }
    return pulled;
  }

 private:
  const AliasTable& table_;
  const std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  Charge charge_;
};

class WeightedNode final : public Node {
 public:
  WeightedNode(const NodePtr& input, const std::vector<double>& weights, std::int64_t count,
               std::optional<std::uint64_t> seed)
      : Node("sample_weighted",
             fmt::format("{} of {}, weights {:08x}, seed={}", count, weights.size(),
                         crc32c(weights.data(), weights.size() * sizeof(double)),
                         seed ? std::to_string(*seed) : "pipeline"),
             {input}, input->spec(), count),
        table_(weights),
        source_(*input->indexed(), count),
        seed_(seed) {}
  bool hands_on() const override { return true; }
  bool order_moves() const override { return true; }
  bool draws() const override { return true; }
  bool may_fail() const override { return elements_may_fail(*inputs()[0]); }
  StagePtr make(Builder& builder) const override {
    const std::uint64_t seed =
        seed_ ? mix_ids(*seed_, 1) : mix_ids(builder.engine().seed(), builder.number());
    return std::make_unique<WeightedStage>(inputs()[0], source_, builder.engine(), table_, seed);
  }
  Bytes minimum(int /*threads*/) const override { return table_.nbytes(); }

 private:
  AliasTable table_;
  DrawnSource source_;
  std::optional<std::uint64_t> seed_;
};

}  // namespace

Dataset Dataset::sample_weighted(const std::vector<double>& weights, std::int64_t count,
                                 std::optional<std::uint64_t> seed) const {
  const auto below = choose_below(
      *this, [&](const Dataset& files) { return files.sample_weighted(weights, count, seed); });
  if (below) return *below;
  if (node_->indexed() == nullptr) {
    throw InvalidArgument(fmt::format(
        "[sample_weighted] elements need an index, and {} gives them in order; sample what it is "
        "made of",
        node_->title()));
  }
  double total = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || std::isinf(weight)) {
      throw InvalidArgument(fmt::format("[sample_weighted] a weight is {}", weight));
    }
    total += weight;
  }
  if (static_cast<std::int64_t>(weights.size()) != cardinality() || !(total > 0) ||
      weights.size() > 0xFFFFFFFFU) {
    throw InvalidArgument(fmt::format(
        "[sample_weighted] {} weights for {} elements; give one of 0 or more each, not all 0",
        weights.size(), cardinality()));
  }
  if (count < -1) throw InvalidArgument(fmt::format("[sample_weighted] a count of {}", count));
  return Dataset(
      std::make_shared<WeightedNode>(node_, weights, count < 0 ? cardinality() : count, seed));
}

Dataset Dataset::balance_classes(std::int64_t count, std::optional<std::uint64_t> seed) const {
  const auto below =
      choose_below(*this, [&](const Dataset& paths) { return paths.balance_classes(count, seed); });
  if (below) return *below;
  const FileSource* const files = node_->files();
  if (files == nullptr || files->class_names().empty()) {
    throw InvalidArgument(
        "[balance_classes] the elements have no classes; balance an image_folder, or parts of one, "
        "before it is mapped");
  }
  const std::vector<std::int64_t> counts = class_counts();
  std::vector<double> weights(static_cast<std::size_t>(files->file_count()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto of = static_cast<std::size_t>(files->file_class(static_cast<std::int64_t>(i)));
    weights[i] = 1.0 / static_cast<double>(counts.at(of));
  }
  return sample_weighted(weights, count, seed);
}

}  // namespace plimsoll::data
