#include "data/ignore_errors.h"

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine.h"
#include "data/node.h"
#include "data/simple_stage.h"

namespace plimsoll::data {
namespace {

class IgnoreErrorsStage final : public CountingStage {
 public:
  IgnoreErrorsStage(StagePtr input, std::int64_t most, Engine& engine)
      : CountingStage(std::move(input)), most_(most), engine_(engine) {}
  bool offer(Placement& placement) override { return input_->offer(placement); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    for (;;) {
      try {
        return input_->next_block(out, max);
      } catch (const TooManyErrors&) {
        throw;
      } catch (const DataError& error) {
        if (most_ >= 0 && count_ >= static_cast<std::uint64_t>(most_)) {
          throw TooManyErrors(
              fmt::format("{} (after {} that were left out)", error.what(), count_));
        }
        ++count_;
        engine_.note_skipped({input_->stats().stage, error.what()});
      }
    }
  }

 private:
  const std::int64_t most_;
  Engine& engine_;
};

class IgnoreErrorsNode final : public Node {
 public:
  IgnoreErrorsNode(NodePtr input, std::int64_t most)
      : Node("ignore_errors", fmt::format("{}", most), {input}, input->spec(),
             input->cardinality() == kInfinite ? kInfinite : kUnknown),
        most_(most) {}
  StagePtr make(Builder& builder) const override {
    return make_ignore_errors(builder.input(*this), most_, builder.engine());
  }

 private:
  std::int64_t most_;
};

}  // namespace

StagePtr make_ignore_errors(StagePtr input, std::int64_t most, Engine& engine) {
  return std::make_unique<IgnoreErrorsStage>(std::move(input), most, engine);
}

Dataset Dataset::ignore_errors(std::int64_t most) const {
  if (most < -1) throw InvalidArgument(fmt::format("[ignore_errors] {}; give -1 or more", most));
  return Dataset(std::make_shared<IgnoreErrorsNode>(node_, most));
}

}  // namespace plimsoll::data
