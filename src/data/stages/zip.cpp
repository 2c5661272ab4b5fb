#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/inbox.h"
#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

class ZipStage final : public Stage {
 public:
  explicit ZipStage(std::vector<Inbox> inputs) : inputs_(std::move(inputs)) {}

  void start(std::uint64_t epoch) override {
    for (Inbox& input : inputs_) input.start(epoch);
  }
  StatePtr save() const override {
    std::vector<StatePtr> states;
    for (const Inbox& input : inputs_) states.push_back(input.position());
    return make_state({}, std::move(states));
  }
  void restore(const State& state) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].restore(*state.inputs.at(i));
  }
  std::size_t state_words() const override {
    std::size_t words = 0;
    for (const Inbox& input : inputs_) words += input.state_words();
    return words;
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    std::size_t rows = max;
    for (Inbox& input : inputs_) {
      input.forget(input.taken());
      const Pull filled = input.fill(rows);
      if (filled != Pull::ready) return filled;
      rows = std::min(rows, input.ready());
    }
    for (std::size_t i = 0; i < rows; ++i) {
      Element joined;
      joined.id = inputs_.front().front().id;
      for (Inbox& input : inputs_) {
        Element& part = input.front();
        for (std::size_t c = 0; c < part.size(); ++c) joined.push_back(std::move(part[c]));
        input.pop();
      }
      out.push_back(std::move(joined));
    }
    return Pull::ready;
  }

 private:
  std::vector<Inbox> inputs_;
};

ElementSpec joined_spec(const std::vector<NodePtr>& inputs) {
  ElementSpec result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ElementSpec& spec = inputs[i]->spec();
    if (!spec.known) return ElementSpec::unknown();
    for (std::size_t c = 0; c < spec.components.size(); ++c) {
      result.components.push_back(spec.components[c]);
      result.names.push_back(
          fmt::format("{}/{}", i, spec.names.empty() ? std::to_string(c) : spec.names[c]));
    }
  }
  return result;
}

std::int64_t shortest(const std::vector<NodePtr>& inputs) {
  std::int64_t least = kInfinite;
  for (const NodePtr& input : inputs) {
    const std::int64_t count = input->cardinality();
    if (count == 0) return 0;
    if (count == kInfinite || least == kUnknown) continue;
    least = count == kUnknown || least == kInfinite ? count : std::min(least, count);
  }
  return least;
}

class ZipNode final : public Node, private IndexedSource {
 public:
  explicit ZipNode(const std::vector<NodePtr>& inputs)
      : Node("zip", fmt::format("{}", inputs.size()), inputs, joined_spec(inputs),
             shortest(inputs)) {}
  StagePtr make(Builder& builder) const override {
    std::vector<Inbox> stages;
    for (std::size_t i = 0; i < inputs().size(); ++i) stages.emplace_back(builder.input(*this, i));
    return std::make_unique<ZipStage>(std::move(stages));
  }
  const IndexedSource* indexed() const override {
    const bool all = std::all_of(inputs().begin(), inputs().end(),
                                 [](const NodePtr& input) { return input->indexed() != nullptr; });
    return all ? this : nullptr;
  }
  bool ids_are_indices() const override {
    return indexed() != nullptr && inputs()[0]->ids_are_indices();
  }

 private:
  std::int64_t size() const override { return cardinality(); }
  Element get(std::int64_t index, Engine& engine) const override {
    Element joined;
    for (const NodePtr& input : inputs()) {
      Element part = input->indexed()->get(index, engine);
      for (std::size_t c = 0; c < part.size(); ++c) joined.push_back(std::move(part[c]));
    }
    return joined;
  }
};

}  // namespace

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty()) throw InvalidArgument("[zip] no datasets");
  std::vector<NodePtr> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return Dataset(std::make_shared<ZipNode>(nodes));
}

}  // namespace plimsoll::data
