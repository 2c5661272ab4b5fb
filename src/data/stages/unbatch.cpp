#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

/// The batch being taken apart stays at the head of the inbox until its last row is out.
class UnbatchStage final : public OneInputStage {
 public:
  using OneInputStage::OneInputStage;
  void start(std::uint64_t epoch) override {
    row_ = 0;
    OneInputStage::start(epoch);
  }
  StatePtr save() const override {
    return make_state({static_cast<std::uint64_t>(row_)}, {inbox_.position()});
  }
  void restore(const State& state) override {
    row_ = static_cast<std::int64_t>(state.words.at(0));
    inbox_.restore(*state.inputs.at(0));
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() == before) {
      inbox_.forget(inbox_.taken());
      const Pull filled = inbox_.fill(1);
      if (filled != Pull::ready) return filled;
      const std::int64_t rows = rows_of(inbox_.front());
      for (; row_ < rows && out.size() - before < max; ++row_) {
        Element element;
        for (const Value& value : inbox_.front()) element.push_back(slice(value.tensor(), row_));
        element.id = mix_ids(inbox_.front().id, static_cast<std::uint64_t>(row_));
        out.push_back(std::move(element));
      }
      if (row_ < rows) break;
      row_ = 0;
      inbox_.pop();
    }
    return Pull::ready;
  }

 private:
  std::int64_t rows_of(const Element& batch) {
    std::int64_t rows = -1;
    for (const Value& value : batch) {
      const std::int64_t these = value.shape().rank() == 0 ? -1 : value.shape()[0];
      if (these < 0 || (rows >= 0 && rows != these)) {
        const std::string text = batch.to_string();
        inbox_.pop();
        row_ = 0;
        throw DataError(fmt::format("[unbatch] {} has no common first dimension", text));
      }
      rows = these;
    }
    return std::max<std::int64_t>(rows, 0);
  }
  static Value slice(const Tensor& tensor, std::int64_t row) {
    Tensor part = tensor.select(0, row);
    if (part.rank() != 0 || part.dtype() == DType::bytes) return Value(std::move(part));
    return Value::from_bits(part.dtype(), part.raw_data());
  }
  std::int64_t row_ = 0;
};

ElementSpec unbatched(const ElementSpec& spec) {
  ElementSpec result = spec;
  for (TensorSpec& component : result.components) component = component.unbatched();
  return result;
}

std::int64_t unbatched_cardinality(const Node& input) {
  if (input.cardinality() <= 0 && input.cardinality() != kUnknown) return input.cardinality();
  const ElementSpec& spec = input.spec();
  if (input.cardinality() == kUnknown || spec.components.empty()) return kUnknown;
  const auto& dims = spec.components.front().dims;
  if (!dims || dims->empty() || dims->front() == kAnyExtent) return kUnknown;
  return input.cardinality() * dims->front();
}

class UnbatchNode final : public Node {
 public:
  explicit UnbatchNode(NodePtr input)
      : Node("unbatch", "", {input}, unbatched(input->spec()), unbatched_cardinality(*input)) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<UnbatchStage>(builder.input(*this));
  }
};

}  // namespace

Dataset Dataset::unbatch() const { return Dataset(std::make_shared<UnbatchNode>(node_)); }

}  // namespace plimsoll::data
