#include "support/random_step.h"

#include <algorithm>
#include <random>

namespace plimsoll::test {
namespace {

using plan::Root;
using plan::StepModel;
using plan::Work;

constexpr int kMostNodes = 19;

class StepMaker {
 public:
  explicit StepMaker(std::uint64_t seed) : random_(seed) {}

  StepModel make() {
    do {
      model_ = {};
      forward_.clear();
      try_one();
    } while (static_cast<int>(model_.work.size()) > kMostNodes);
    model_.graph = std::make_shared<graph::Graph>();
    for (Root& root : model_.roots) {
      const int born = std::max(root.producer, 0);
      root.last_use = root.uses.empty() ? born : root.uses.back();
      root.drop_after = root.last_use;
      if (born >= model_.first_backward) continue;
      root.drop_after = born;
      for (const int use : root.uses) {
        if (use < model_.first_backward) root.drop_after = use;
      }
    }
    return std::move(model_);
  }

 private:
  struct Forward {
    std::vector<int> inputs;
    int output = 0;
    bool saves_inputs = false;
    bool saves_output = false;
    bool has_weight = false;
    double seconds = 0;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  Root& root(int r) { return model_.roots[static_cast<std::size_t>(r)]; }

  int add_root(Bytes bytes) {
    model_.roots.push_back({.bytes = bytes});
    return static_cast<int>(model_.roots.size()) - 1;
  }

  void add_work(std::vector<int> inputs, const std::vector<int>& outputs, double seconds,
                bool in_place, bool writes) {
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    Work work{.inputs = inputs, .outputs = outputs, .seconds = seconds};
    if (chance(15)) work.workspace = 256 * static_cast<Bytes>(1 + below(3));
    const int position = static_cast<int>(model_.work.size());
    for (const int in : inputs) {
      root(in).uses.push_back(position);
      for (const int out : outputs) {
        if (in_place && root(in).bytes == root(out).bytes) work.in_place.emplace_back(out, in);
      }
    }
    for (const int out : outputs) {
      root(out).producer = position;
      root(out).droppable = !writes;
    }
    model_.work.push_back(std::move(work));
  }

  Bytes some_bytes() { return 256 * static_cast<Bytes>(1 + below(sizes_)); }

  void try_one() {
    sizes_ = chance(30) ? 1 : 6;
    const bool residual = chance(40);
    const bool branches = chance(40);
    const int count = 3 + below(6);
    const int input = add_root(some_bytes());
    std::vector<int> values = {input};
    for (int i = 0; i < count; ++i) {
      Forward node;
      node.inputs = {values.back()};
      if (residual && values.size() > 2 && chance(40)) {
        node.inputs.push_back(values[values.size() - 3]);
      }
      if (branches && values.size() > 1 && chance(40)) {
        node.inputs.push_back(
            values[static_cast<std::size_t>(below(static_cast<int>(values.size())))]);
      }
      std::sort(node.inputs.begin(), node.inputs.end());
      node.inputs.erase(std::unique(node.inputs.begin(), node.inputs.end()), node.inputs.end());
      node.output = add_root(chance(40) ? root(node.inputs.back()).bytes : some_bytes());
      node.saves_inputs = chance(70);
      node.saves_output = chance(30);
      node.has_weight = chance(40);
      node.seconds = chance(50) ? 1 + below(5) : 10 + below(40);
      add_work(node.inputs, {node.output}, node.seconds, chance(30), false);
      values.push_back(node.output);
      forward_.push_back(std::move(node));
    }
    const int loss = add_root(256);
    root(loss).output = true;
    add_work({values.back()}, {loss}, 1, false, false);
    model_.first_backward = static_cast<int>(model_.work.size());
    backward(values.back(), loss, input);
  }

  void backward(int last, int loss, int input) {
    std::vector<int> gradient(model_.roots.size(), -1);
    const auto add_gradient = [&](int value, int made) {
      int& sum = gradient[static_cast<std::size_t>(value)];
      if (sum < 0) {
        sum = made;
        return;
      }
      const int both = add_root(root(value).bytes);
      add_work({sum, made}, {both}, 1, true, false);
      sum = both;
    };
    const int first = add_root(root(last).bytes);
    add_work({last, loss}, {first}, 1, chance(50), false);
    add_gradient(last, first);
    for (std::size_t i = forward_.size(); i-- > 0;) {
      const Forward& node = forward_[i];
      const int of_output = gradient[static_cast<std::size_t>(node.output)];
      if (of_output < 0) continue;
      std::vector<int> reads = {of_output};
      if (node.saves_inputs) reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
      if (node.saves_output) reads.push_back(node.output);
      if (node.has_weight)
        add_work({of_output, node.inputs.front()}, {}, node.seconds, false, true);
      std::vector<int> made;
      std::vector<int> to;
      for (const int in : node.inputs) {
        if (in == input) continue;
        made.push_back(add_root(root(in).bytes));
        to.push_back(in);
      }
      if (made.empty()) continue;
      add_work(reads, made, node.seconds, chance(30), false);
      for (std::size_t m = 0; m < made.size(); ++m) add_gradient(to[m], made[m]);
    }
  }

  std::mt19937_64 random_;
  StepModel model_;
  std::vector<Forward> forward_;
  int sizes_ = 6;
};

}  // namespace

StepModel random_step(std::uint64_t seed) { return StepMaker(seed).make(); }

PebbleGame game_of(const StepModel& model) {
  PebbleGame game;
  for (std::size_t r = 0; r < model.roots.size(); ++r) {
    const Root& root = model.roots[r];
    game.bytes.push_back(root.bytes);
    if (root.producer < 0) game.given.push_back(static_cast<int>(r));
    if (root.output) game.wanted.push_back(static_cast<int>(r));
  }
  const int count = static_cast<int>(model.work.size());
  for (int n = 0; n < count; ++n) {
    const Work& work = model.work[static_cast<std::size_t>(n)];
    PebbleGame::Node node{.inputs = work.inputs,
                          .outputs = work.outputs,
                          .in_place = work.in_place,
                          .seconds = work.seconds,
                          .workspace = work.workspace,
                          .again_until = count};
    // State that a later node overwrites is there until that node has run.
    for (int later = n + 1; later < count; ++later) {
      for (const int state : model.work[static_cast<std::size_t>(later)].writes_state) {
        const auto& reads = work.reads_state;
        if (std::find(reads.begin(), reads.end(), state) != reads.end()) {
          node.again_until = std::min(node.again_until, later);
        }
      }
    }
    const bool can = std::all_of(work.outputs.begin(), work.outputs.end(), [&](int r) {
      const Root& root = model.roots[static_cast<std::size_t>(r)];
      return root.droppable && !root.output;  // outputs, which are small, stay where they are
    });
    if (!can || work.outputs.empty() || !work.writes_state.empty()) node.again_until = 0;
    game.nodes.push_back(std::move(node));
  }
  return game;
}

}  // namespace plimsoll::test
