#include "data/stages/ignore_errors.h"

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/node.h"
#include "data/engine/row_sink.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

class IgnoreErrorsStage final : public CountingStage, public RowSource {
 public:
  IgnoreErrorsStage(StagePtr input, std::int64_t most, double rate, Engine& engine)
      : CountingStage(std::move(input)), most_(most), rate_(rate), engine_(engine) {}
  void start(std::uint64_t epoch) override {
    seen_ = 0;
    CountingStage::start(epoch);
  }
  StatePtr save() const override { return make_state({count_, seen_}, {input_->save()}); }
  void restore(const State& state) override {
    seen_ = state.words.at(1);
    CountingStage::restore(state);
  }
  /// skip() counts elements that come out; for shards it is enough that all count alike.
  bool narrow(std::uint64_t first, std::uint64_t step) override {
    const bool leaves_out = most_ != 0 || rate_ != 0;
    return !(leaves_out && step == 1) && input_->narrow(first, step);
  }
  bool offer(Placement& placement) override { return input_->offer(placement); }
  void write_rows_to(RowSink& sink) override {
    if (auto* const source = dynamic_cast<RowSource*>(input_.get())) source->write_rows_to(sink);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    for (;;) {
      try {
        const Pull pulled = input_->next_block(out, max);
        seen_ += out.size() - before;
        return pulled;
      } catch (const TooManyErrors&) {
        throw;
      } catch (const DataError& error) {
        ++seen_;
        if (most_ == 0 && rate_ == 0) throw;
        if (most_ >= 0 && static_cast<double>(count_ + 1) >
                              static_cast<double>(most_) + rate_ * static_cast<double>(seen_)) {
          throw TooManyErrors(
              fmt::format("{} (after {} that were left out)", error.what(), count_));
        }
        ++count_;
        engine_.note_skipped({input_->stats().stage, error.what(), engine_.epoch()});
      }
    }
  }

 private:
  const std::int64_t most_;
  const double rate_;
  Engine& engine_;
  std::uint64_t seen_ = 0;
};

class IgnoreErrorsNode final : public Node {
 public:
  IgnoreErrorsNode(const NodePtr& input, std::int64_t most, double rate)
      : Node("ignore_errors",
             rate > 0 ? fmt::format("{}, rate={}", most, rate) : fmt::format("{}", most), {input},
             input->spec(), input->cardinality() == kInfinite ? kInfinite : kUnknown),
        most_(most),
        rate_(rate) {}
  bool hands_on() const override { return true; }
  StagePtr make(Builder& builder) const override {
    return make_ignore_errors(builder.input(*this), most_, rate_, builder.engine());
  }

 private:
  std::int64_t most_;
  double rate_;
};

}  // namespace

StagePtr make_ignore_errors(StagePtr input, std::int64_t most, double rate, Engine& engine) {
  return std::make_unique<IgnoreErrorsStage>(std::move(input), most, rate, engine);
}

Dataset Dataset::ignore_errors(std::int64_t most, double rate) const {
  if (most < -1) throw InvalidArgument(fmt::format("[ignore_errors] {}; give -1 or more", most));
  if (!(rate >= 0 && rate <= 1)) {
    throw InvalidArgument(fmt::format("[ignore_errors] a rate of {}; give 0 to 1", rate));
  }
  return Dataset(std::make_shared<IgnoreErrorsNode>(node_, most, rate));
}

}  // namespace plimsoll::data
