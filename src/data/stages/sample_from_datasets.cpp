#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/inbox.h"
#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

/// Between 0 and 1, 1 excluded.
double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Takes elements of its inputs by turns that somebody else decides.
class MixStage : public Stage {
 public:
  MixStage(std::vector<Inbox> inputs, bool stop_on_empty)
      : inputs_(std::move(inputs)), ended_(inputs_.size()), stop_on_empty_(stop_on_empty) {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    taken_ = 0;
    over_ = false;
    std::fill(ended_.begin(), ended_.end(), false);
    for (Inbox& input : inputs_) input.start(epoch);
  }
  StatePtr save() const override {
    std::vector<std::uint64_t> words{epoch_, taken_, over_ ? 1U : 0U};
    std::vector<StatePtr> states;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      words.push_back(ended_[i] ? 1 : 0);
      states.push_back(inputs_[i].position());
    }
    return make_state(std::move(words), std::move(states));
  }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    taken_ = state.words.at(1);
    over_ = state.words.at(2) != 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      ended_[i] = state.words.at(3 + i) != 0;
      inputs_[i].restore(*state.inputs.at(i));
    }
  }
  std::size_t state_words() const override {
    std::size_t words = 3;
    for (const Inbox& input : inputs_) words += 1 + input.state_words();
    return words;
  }

 protected:
  /// The number of the input whose turn it is.
  struct Turn {
    Pull pull = Pull::ready;
    std::size_t input = 0;
  };
  /// Whose turn it is; the same until used() is called. Throws DataError for a number that no input
  /// has, whose turn is then over.
  virtual Turn turn() = 0;
  /// The turn is over.
  virtual void used() {}

  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() - before < max && !over_) {
      if (out.size() > before) {
        // An error or a wait comes alone, with the next call.
        const Turn next = ready_turn();
        if (next.pull != Pull::ready || inputs_[next.input].ready() == 0) break;
      }
      const Turn next = turn();
      if (next.pull == Pull::end) {
        over_ = true;
        break;
      }
      if (next.pull == Pull::pending) return out.size() > before ? Pull::ready : Pull::pending;
      Inbox& input = inputs_[next.input];
      input.forget(input.taken());
      const Pull filled = ended_[next.input] ? Pull::end : input.fill(max);
      if (filled == Pull::pending) return filled;
      if (filled == Pull::end) {
        ended_[next.input] = true;
        over_ = stop_on_empty_ || std::find(ended_.begin(), ended_.end(), false) == ended_.end();
        if (!over_) used();
        continue;
      }
      out.push_back(std::move(input.front()));
      out.back().id = mix_ids(next.input, out.back().id);
      input.pop();
      ++taken_;
      used();
    }
    return out.size() > before ? Pull::ready : Pull::end;
  }

  const std::vector<bool>& ended() const { return ended_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t taken() const { return taken_; }

 private:
  /// The turn, if that is known without waiting and without an error.
  virtual Turn ready_turn() = 0;

  std::vector<Inbox> inputs_;
  std::vector<bool> ended_;
  bool stop_on_empty_;
  bool over_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t taken_ = 0;
};

class SampleStage final : public MixStage {
 public:
  SampleStage(std::vector<Inbox> inputs, std::vector<double> weights, bool stop_on_empty,
              std::uint64_t seed)
      : MixStage(std::move(inputs), stop_on_empty), weights_(std::move(weights)), seed_(seed) {}

 protected:
  /// Among the inputs that have not ended: where one has, the others keep their proportions.
  Turn turn() override {
    double total = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) total += ended()[i] ? 0 : weights_[i];
    if (total <= 0) return {Pull::end, 0};
    double left = uniform(mix_ids(mix_ids(seed_, epoch()), taken())) * total;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (ended()[i] || weights_[i] <= 0) continue;
      last = i;
      if (left < weights_[i]) break;
      left -= weights_[i];
    }
    return {Pull::ready, last};
  }

 private:
  Turn ready_turn() override { return turn(); }

  std::vector<double> weights_;
  const std::uint64_t seed_;
};

class ChooseStage final : public MixStage {
 public:
  ChooseStage(std::vector<Inbox> inputs, Inbox choice, bool stop_on_empty)
      : MixStage(std::move(inputs), stop_on_empty), choice_(std::move(choice)) {}
  void start(std::uint64_t epoch) override {
    MixStage::start(epoch);
    choice_.start(epoch);
  }
  StatePtr save() const override { return make_state({}, {MixStage::save(), choice_.position()}); }
  void restore(const State& state) override {
    MixStage::restore(*state.inputs.at(0));
    choice_.restore(*state.inputs.at(1));
  }
  std::size_t state_words() const override {
    return MixStage::state_words() + choice_.state_words();
  }

 protected:
  Turn turn() override {
    if (choice_.ready() == 0) {
      choice_.forget(choice_.taken());
      const Pull filled = choice_.fill(64);
      if (filled != Pull::ready) return {filled, 0};
    }
    const auto number = choice_.front().at(0).as<std::int64_t>();
    if (number < 0 || number >= static_cast<std::int64_t>(ended().size())) {
      choice_.pop();
      throw DataError(
          fmt::format("[choose_from_datasets] the choice is {}, and there are {} datasets", number,
                      ended().size()));
    }
    return {Pull::ready, static_cast<std::size_t>(number)};
  }
  void used() override { choice_.pop(); }

 private:
  Turn ready_turn() override {
    if (choice_.ready() == 0) return {Pull::pending, 0};
    const auto number = choice_.front().at(0).as<std::int64_t>();
    if (number < 0 || number >= static_cast<std::int64_t>(ended().size())) {
      return {Pull::pending, 0};
    }
    return {Pull::ready, static_cast<std::size_t>(number)};
  }

  Inbox choice_;
};

ElementSpec spec_of_all(const std::vector<NodePtr>& inputs, const char* who) {
  ElementSpec spec = inputs.front()->spec();
  for (const NodePtr& input : inputs) {
    const ElementSpec& other = input->spec();
    if (!spec.known || !other.known) return ElementSpec::unknown();
    bool same = spec.components.size() == other.components.size();
    for (std::size_t i = 0; same && i < spec.components.size(); ++i) {
      same = spec.components[i].dtype == other.components[i].dtype;
      if (same) {
        spec.components[i] = TensorSpec::common(spec.components[i], other.components[i]);
      }
    }
    if (!same) {
      throw InvalidArgument(fmt::format("[{}] one dataset has {}, another {}", who,
                                        inputs.front()->spec().to_string(), other.to_string()));
    }
  }
  return spec;
}

std::int64_t total_of(const std::vector<NodePtr>& inputs, bool stop_on_empty) {
  std::int64_t total = 0;
  for (const NodePtr& input : inputs) {
    const std::int64_t count = input->cardinality();
    if (count == kInfinite && !stop_on_empty) return kInfinite;
    if (count < 0 || stop_on_empty || __builtin_add_overflow(total, count, &total)) return kUnknown;
  }
  return total;
}

std::vector<Inbox> inboxes(const Node& node, Builder& builder, std::size_t count) {
  std::vector<Inbox> result;
  for (std::size_t i = 0; i < count; ++i) result.emplace_back(builder.input(node, i));
  return result;
}

class SampleNode final : public Node {
 public:
  SampleNode(std::vector<NodePtr> inputs, std::vector<double> weights, const SampleOptions& options)
      : Node("sample_from_datasets",
             fmt::format("weights={}, seed={}, stop_on_empty={}", fmt::join(weights, " "),
                         options.seed ? std::to_string(*options.seed) : "pipeline",
                         options.stop_on_empty),
             inputs, spec_of_all(inputs, "sample_from_datasets"),
             total_of(inputs, options.stop_on_empty)),
        weights_(std::move(weights)),
        options_(options) {}
  bool hands_on() const override { return true; }
  bool order_moves() const override { return true; }
  bool draws() const override { return true; }
  StagePtr make(Builder& builder) const override {
    const std::uint64_t seed = options_.seed ? mix_ids(*options_.seed, 1)
                                             : mix_ids(builder.engine().seed(), builder.number());
    return std::make_unique<SampleStage>(inboxes(*this, builder, inputs().size()), weights_,
                                         options_.stop_on_empty, seed);
  }

 private:
  std::vector<double> weights_;
  SampleOptions options_;
};

class ChooseNode final : public Node {
 public:
  /// The choice is the last input.
  ChooseNode(const std::vector<NodePtr>& datasets, const NodePtr& choice, bool stop_on_empty)
      : Node("choose_from_datasets", fmt::format("stop_on_empty={}", stop_on_empty),
             with(datasets, choice), spec_of_all(datasets, "choose_from_datasets"), kUnknown),
        stop_on_empty_(stop_on_empty) {}
  StagePtr make(Builder& builder) const override {
    const std::size_t count = inputs().size() - 1;
    auto datasets = inboxes(*this, builder, count);
    return std::make_unique<ChooseStage>(std::move(datasets), Inbox(builder.input(*this, count)),
                                         stop_on_empty_);
  }
  bool may_fail() const override { return true; }

 private:
  static std::vector<NodePtr> with(std::vector<NodePtr> nodes, const NodePtr& last) {
    nodes.push_back(last);
    return nodes;
  }
  bool stop_on_empty_;
};

std::vector<NodePtr> nodes_of(const std::vector<Dataset>& datasets, const char* who) {
  if (datasets.empty()) throw InvalidArgument(fmt::format("[{}] no datasets", who));
  std::vector<NodePtr> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

}  // namespace

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const std::vector<double>& weights,
                                      const SampleOptions& options) {
  auto nodes = nodes_of(datasets, "sample_from_datasets");
  std::vector<double> shares = weights;
  if (shares.empty()) shares.assign(nodes.size(), 1.0 / static_cast<double>(nodes.size()));
  const bool wrong = std::any_of(shares.begin(), shares.end(),
                                 [](double w) { return !(w >= 0) || std::isinf(w); });
  if (shares.size() != nodes.size() || wrong ||
      std::accumulate(shares.begin(), shares.end(), 0.0) <= 0) {
    throw InvalidArgument(fmt::format(
        "[sample_from_datasets] weights {} for {} datasets; give one of 0 or more each, not all 0",
        fmt::join(weights, " "), nodes.size()));
  }
  return Dataset(std::make_shared<SampleNode>(std::move(nodes), std::move(shares), options));
}

Dataset Dataset::choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choice,
                                      bool stop_on_empty) {
  const ElementSpec& spec = choice.element_spec();
  if (spec.known &&
      (spec.components.size() != 1 || spec.components[0] != TensorSpec::scalar(DType::i64))) {
    throw InvalidArgument(fmt::format("[choose_from_datasets] the choice is {}, not an i64 scalar",
                                      spec.to_string()));
  }
  return Dataset(std::make_shared<ChooseNode>(nodes_of(datasets, "choose_from_datasets"),
                                              choice.node(), stop_on_empty));
}

}  // namespace plimsoll::data
