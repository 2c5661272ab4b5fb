#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

class ConcatenateStage final : public Stage {
 public:
  ConcatenateStage(StagePtr first, StagePtr second)
      : inputs_{std::move(first), std::move(second)} {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    at_ = 0;
    inputs_[0]->start(epoch);
  }
  StatePtr save() const override { return make_state({epoch_, at_}, {inputs_[at_]->save()}); }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    at_ = state.words.at(1) == 0 ? 0 : 1;
    inputs_[at_]->restore(*state.inputs.at(0));
  }
  std::size_t state_words() const override { return 2 + inputs_[at_]->state_words(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    for (;;) {
      const Pull pulled = inputs_[at_]->next_block(out, max);
      if (at_ == 1) {
        for (std::size_t i = before; i < out.size(); ++i) out[i].id = mix_ids(out[i].id, ~0ULL);
      }
      if (pulled != Pull::end || at_ == 1) return pulled;
      at_ = 1;
      inputs_[1]->start(epoch_);
    }
  }

 private:
  std::array<StagePtr, 2> inputs_;
  std::uint64_t epoch_ = 0;
  std::size_t at_ = 0;
};

ElementSpec common_spec(const ElementSpec& a, const ElementSpec& b) {
  if (!a.known || !b.known) return ElementSpec::unknown();
  bool fits = a.components.size() == b.components.size();
  ElementSpec result = a;
  for (std::size_t i = 0; fits && i < a.components.size(); ++i) {
    fits = a.components[i].dtype == b.components[i].dtype;
    result.components[i] = TensorSpec::common(a.components[i], b.components[i]);
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("[concatenate] elements are {} and {}", a.to_string(), b.to_string()));
  }
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  if (a == kInfinite || b == kInfinite) return kInfinite;
  return a == kUnknown || b == kUnknown ? kUnknown : a + b;
}

class ConcatenateNode final : public Node {
 public:
  ConcatenateNode(NodePtr first, NodePtr second)
      : Node("concatenate", "", {first, second}, common_spec(first->spec(), second->spec()),
             sum(first->cardinality(), second->cardinality())) {}
  bool hands_on() const override { return true; }
  StagePtr make(Builder& builder) const override {
    StagePtr first = builder.input(*this, 0);
    return std::make_unique<ConcatenateStage>(std::move(first), builder.input(*this, 1));
  }
};

}  // namespace

Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(std::make_shared<ConcatenateNode>(node_, other.node_));
}

}  // namespace plimsoll::data
