#include <fmt/format.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

class EnumerateStage final : public CountingStage {
 public:
  EnumerateStage(StagePtr input, std::int64_t first)
      : CountingStage(std::move(input)), first_(first) {}

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    const Pull pulled = input_->next_block(out, max);
    for (std::size_t i = before; i < out.size(); ++i) {
      Element numbered{Value(first_ + static_cast<std::int64_t>(count_++))};
      for (std::size_t c = 0; c < out[i].size(); ++c) numbered.push_back(std::move(out[i][c]));
      numbered.id = out[i].id;
      out[i] = std::move(numbered);
    }
    return pulled;
  }

 private:
  std::int64_t first_;
};

ElementSpec numbered(const ElementSpec& spec) {
  if (!spec.known) return spec;
  ElementSpec result = spec;
  result.components.insert(result.components.begin(), TensorSpec::scalar(DType::i64));
  if (!result.names.empty()) result.names.insert(result.names.begin(), "index");
  return result;
}

class EnumerateNode final : public Node {
 public:
  EnumerateNode(NodePtr input, std::int64_t first)
      : Node("enumerate", fmt::format("{}", first), {input}, numbered(input->spec()),
             input->cardinality()),
        first_(first) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<EnumerateStage>(builder.input(*this), first_);
  }

 private:
  std::int64_t first_;
};

}  // namespace

Dataset Dataset::enumerate(std::int64_t start) const {
  return Dataset(std::make_shared<EnumerateNode>(node_, start));
}

}  // namespace plimsoll::data
