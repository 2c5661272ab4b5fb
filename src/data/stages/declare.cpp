#include <plimsoll/data/declare.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

bool admits(const ElementSpec& spec, const Element& element) {
  bool fits = element.size() == spec.components.size();
  for (std::size_t i = 0; fits && i < element.size(); ++i) {
    fits = spec.components[i].admits(TensorSpec::of(element[i]));
  }
  return fits;
}

class DeclareStage final : public OneInputStage {
 public:
  DeclareStage(StagePtr input, ElementSpec spec)
      : OneInputStage(std::move(input)), spec_(std::move(spec)) {}

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    const Pull filled = inbox_.fill(max);
    if (filled != Pull::ready) return filled;
    for (std::size_t left = std::min(max, inbox_.ready()); left > 0; --left) {
      if (!admits(spec_, inbox_.front())) {
        if (out.size() > before) break;  // comes again with the next call
        const std::string given = inbox_.front().to_string();
        inbox_.pop();
        throw DataError(fmt::format("[declare] an element is {}, and {} was declared", given,
                                    spec_.to_string()));
      }
      out.push_back(std::move(inbox_.front()));
      inbox_.pop();
    }
    inbox_.forget(inbox_.taken());
    return Pull::ready;
  }

 private:
  const ElementSpec spec_;
};

class DeclareNode final : public Node {
 public:
  DeclareNode(const NodePtr& input, const ElementSpec& spec)
      : Node("declare", spec.to_string(), {input}, spec, input->cardinality()) {}
  bool hands_on() const override { return true; }
  bool may_fail() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<DeclareStage>(builder.input(*this), spec());
  }
};

}  // namespace

Dataset declare(const Dataset& input, const ElementSpec& spec) {
  if (!spec.known) return input;
  const ElementSpec& before = input.element_spec();
  bool fits = !before.known || before.components.size() == spec.components.size();
  for (std::size_t i = 0; fits && before.known && i < spec.components.size(); ++i) {
    fits = before.components[i].dtype == spec.components[i].dtype;
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("[declare] elements are {}, not {}", before.to_string(), spec.to_string()));
  }
  return Dataset(std::make_shared<DeclareNode>(input.node(), spec));
}

}  // namespace plimsoll::data
