#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/node.h"
#include "data/engine/simple_stage.h"

namespace plimsoll::data {
namespace {

void require_scalars(const Element& state, const char* what) {
  for (const Value& value : state) {
    if (value.is_scalar()) continue;
    throw InvalidArgument(fmt::format(
        "[scan] {} has a tensor; a state is inline scalars, which a position can hold", what));
  }
}

class ScanStage final : public OneInputStage {
 public:
  ScanStage(StagePtr input, Element first, ScanFunction function)
      : OneInputStage(std::move(input)), first_(std::move(first)), function_(std::move(function)) {}
  void start(std::uint64_t epoch) override {
    state_ = first_;
    OneInputStage::start(epoch);
  }
  StatePtr save() const override {
    std::vector<std::uint64_t> words;
    for (const Value& value : state_) {
      words.push_back(static_cast<std::uint64_t>(value.dtype()));
      words.push_back(value.bits());
    }
    return make_state(std::move(words), {inbox_.position()});
  }
  void restore(const State& state) override {
    state_.clear();
    for (std::size_t i = 0; i + 1 < state.words.size(); i += 2) {
      const std::uint64_t dtype = state.words[i];
      if (dtype >= static_cast<std::uint64_t>(DType::bytes)) {
        throw DataError(
            "[Pipeline::restore] not a saved position: the state of scan is not a number");
      }
      state_.push_back(Value::from_bits(static_cast<DType>(dtype), &state.words[i + 1]));
    }
    inbox_.restore(*state.inputs.at(0));
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    inbox_.forget(inbox_.taken());
    const Pull filled = inbox_.fill(max);
    if (filled != Pull::ready) return filled;
    const std::size_t before = out.size();
    for (std::size_t left = std::min(max, inbox_.ready()); left > 0; --left) {
      const Element& element = inbox_.front();
      const std::uint64_t id = element.id;
      try {
        auto [state, result] = function_(state_, element);
        require_scalars(state, "the new state");
        state_ = std::move(state);
        result.id = id;
        out.push_back(std::move(result));
      } catch (const OutOfMemory&) {
        if (out.size() > before) break;
        throw;
      } catch (const std::exception& error) {
        if (out.size() > before) break;  // comes again, alone, with the next call
        const std::string message =
            fmt::format("[scan] element {}: {}", element.to_string(), error.what());
        inbox_.pop();
        throw DataError(message);
      }
      inbox_.pop();
    }
    return Pull::ready;
  }

 private:
  const Element first_;
  ScanFunction function_;
  Element state_;
};

class ScanNode final : public Node {
 public:
  ScanNode(NodePtr input, Element state, ScanFunction function, const std::string& name)
      : Node("scan", fmt::format("{}, from {}", name, state.to_string()), {input},
             ElementSpec::unknown(), input->cardinality()),
        state_(std::move(state)),
        function_(std::move(function)) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<ScanStage>(builder.input(*this), state_, function_);
  }
  bool may_fail() const override { return true; }

 private:
  Element state_;
  ScanFunction function_;
};

class TakeWhileStage final : public OneInputStage {
 public:
  TakeWhileStage(StagePtr input, std::function<bool(const Element&)> predicate)
      : OneInputStage(std::move(input)), predicate_(std::move(predicate)) {}
  void start(std::uint64_t epoch) override {
    over_ = false;
    OneInputStage::start(epoch);
  }
  StatePtr save() const override { return make_state({over_ ? 1U : 0U}, {inbox_.position()}); }
  void restore(const State& state) override {
    over_ = state.words.at(0) != 0;
    inbox_.restore(*state.inputs.at(0));
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (over_) return Pull::end;
    inbox_.forget(inbox_.taken());
    const Pull filled = inbox_.fill(max);
    if (filled != Pull::ready) return filled;
    const std::size_t before = out.size();
    for (std::size_t left = std::min(max, inbox_.ready()); left > 0 && !over_; --left) {
      try {
        over_ = !predicate_(inbox_.front());
      } catch (const OutOfMemory&) {
        if (out.size() > before) break;
        throw;
      } catch (const std::exception& error) {
        if (out.size() > before) break;
        const std::string message =
            fmt::format("[take_while] element {}: {}", inbox_.front().to_string(), error.what());
        inbox_.pop();
        throw DataError(message);
      }
      if (!over_) out.push_back(std::move(inbox_.front()));
      inbox_.pop();
    }
    return out.size() > before ? Pull::ready : Pull::end;
  }

 private:
  std::function<bool(const Element&)> predicate_;
  bool over_ = false;
};

class TakeWhileNode final : public Node {
 public:
  TakeWhileNode(NodePtr input, std::function<bool(const Element&)> predicate,
                const std::string& name)
      : Node("take_while", name, {input}, input->spec(), input->cardinality() == 0 ? 0 : kUnknown),
        predicate_(std::move(predicate)) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<TakeWhileStage>(builder.input(*this), predicate_);
  }
  bool hands_on() const override { return true; }
  bool may_fail() const override { return true; }

 private:
  std::function<bool(const Element&)> predicate_;
};

}  // namespace

Dataset Dataset::scan(Element state, ScanFunction function, const std::string& name) const {
  if (!function) throw InvalidArgument("[scan] needs a function");
  require_scalars(state, "the first state");
  return Dataset(std::make_shared<ScanNode>(node_, std::move(state), std::move(function), name));
}

Dataset Dataset::take_while(std::function<bool(const Element&)> predicate,
                            const std::string& name) const {
  if (!predicate) throw InvalidArgument("[take_while] needs a predicate");
  return Dataset(std::make_shared<TakeWhileNode>(node_, std::move(predicate), name));
}

Dataset Dataset::rebatch(std::int64_t size, const BatchOptions& options) const {
  return unbatch().batch(size, options);
}

}  // namespace plimsoll::data
