#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

using Predicate = std::function<bool(const Element&)>;

class FilterStage final : public OneInputStage {
 public:
  FilterStage(StagePtr input, Predicate predicate)
      : OneInputStage(std::move(input)), predicate_(std::move(predicate)) {}

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() == before) {
      inbox_.forget(inbox_.taken());
      const Pull filled = inbox_.fill(max);
      if (filled != Pull::ready) return filled;
      for (std::size_t left = std::min(max, inbox_.ready()); left > 0; --left) {
        bool keep = false;
        try {
          keep = predicate_(inbox_.front());
        } catch (const OutOfMemory&) {
          if (out.size() > before) return Pull::ready;
          throw;
        } catch (const std::exception& error) {
          if (out.size() > before) return Pull::ready;  // comes again with the next call
          const std::string name = inbox_.front().to_string();
          inbox_.pop();
          throw DataError(fmt::format("[filter] element {}: {}", name, error.what()));
        }
        if (keep) out.push_back(std::move(inbox_.front()));
        inbox_.pop();
      }
    }
    return Pull::ready;
  }

 private:
  Predicate predicate_;
};

class FilterNode final : public Node {
 public:
  FilterNode(NodePtr input, Predicate predicate, const std::string& name)
      : Node("filter", name, {input}, input->spec(), input->cardinality() == 0 ? 0 : kUnknown),
        predicate_(std::move(predicate)) {}
  bool hands_on() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return std::make_unique<FilterStage>(builder.input(*this), predicate_);
  }
  bool may_fail() const override { return true; }

 private:
  Predicate predicate_;
};

}  // namespace

Dataset Dataset::filter(Predicate predicate, const std::string& name) const {
  if (!predicate) throw InvalidArgument("[filter] needs a function");
  return Dataset(std::make_shared<FilterNode>(node_, std::move(predicate), name));
}

}  // namespace plimsoll::data
