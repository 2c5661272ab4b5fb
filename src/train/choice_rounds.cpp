#include "train/choice_rounds.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Steps of a round: the first ones load what libraries need, and record the step where that is
/// done.
constexpr int kWarmUp = 2;
/// Those that are timed: more of short ones, which others disturb more.
constexpr int kLeastTimed = 3;
constexpr int kMostTimed = 15;
constexpr double kTimedSeconds = 0.1;

std::string words_for(const graph::Graph& graph, const graph::Node& node) {
  std::string text(node.op->name);
  for (const graph::ValueId v : node.inputs) text += " " + graph.value(v).type.to_string();
  return text;
}

}  // namespace

ChoiceRounds::ChoiceRounds(Trainer::Impl& trainer, TrainingMemory& memory, nn::Tensors batch)
    : trainer_(trainer),
      memory_(memory),
      use_(memory),
      table_(*choice_table(memory.parent())),
      batch_(std::move(batch)) {}

ChoiceRounds::~ChoiceRounds() {
  steps_.clear();
  table_.settle(last_);
}

void ChoiceRounds::prepare(const Choices& preferred) {
  steps_.clear();  // nothing that was prepared before may run any more
  table_.explore(preferred);
  for (const auto& step : memory_.plan().phases.front().steps) {
    steps_.push_back(memory_.executor(*step, false));
  }
}

void ChoiceRounds::note_uses() {
  for (std::int64_t part = 0; part < memory_.plan().parts(); ++part) {
    const plan::Executor& step = executor(part);
    const plan::Plan& plan = step.plan();
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      const std::vector<std::string>& keys = step.choice_keys()[t];
      for (const std::string& key : keys) {
        Use& use = uses_[key];
        if (use.tasks++ == 0) {
          use.first = words_for(*plan.graph, plan.graph->node(plan.tasks[t].node));
        }
        use.beside.insert(keys.begin(), keys.end());
      }
    }
  }
  for (auto& [key, use] : uses_) use.beside.erase(key);
}

plan::Executor& ChoiceRounds::executor(std::int64_t part) {
  if (part == 0) return *steps_.front();
  return part + 1 == memory_.plan().parts() ? *steps_.back() : *steps_[1];
}

void ChoiceRounds::step(std::map<std::string, double>* sums) {
  const Phase& phase = memory_.plan().phases.front();
  const std::int64_t micro = phase.batch / phase.parts;
  StepCount counted(trainer_.optimizer, memory_.stream());
  for (std::int64_t part = 0; part < phase.parts; ++part) {
    nn::Tensors feeds;
    for (const Tensor& each : batch_) {
      feeds.push_back(each.slice(0, part * micro, (part + 1) * micro));
    }
    const ops::RandomKey random{.seed = trainer_.options.seed,
                                .step = counted.before(),
                                .micro_batch = static_cast<std::uint32_t>(part)};
    plan::Executor& now = executor(part);
    if (sums == nullptr) {
      now.run(feeds, random);
      continue;
    }
    const std::vector<double> seconds = now.run_timed(feeds, random);
    for (std::size_t t = 0; t < seconds.size(); ++t) {
      for (const std::string& key : now.choice_keys()[t]) (*sums)[key] += seconds[t];
    }
  }
  for (const auto& each : steps_) each->wait();
  counted.stands();
}

ChoiceRounds::Round ChoiceRounds::run(const Choices& preferred) {
  prepare(preferred);
  if (uses_.empty()) note_uses();
  Round round;
  const Choices all = table_.all();
  for (const auto& [key, use] : uses_) {
    if (const auto found = all.find(key); found != all.end()) round.taken.insert(*found);
  }
  std::map<std::string, double> warm_up;
  step(&warm_up);
  const Clock::time_point begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (int i = 0; i < kLeastTimed || (i < kMostTimed && seconds() < kTimedSeconds); ++i) {
    std::map<std::string, double> sums;
    step(&sums);
    for (const auto& [key, sum] : sums) round.samples[key].push_back(sum);
  }
  return round;
}

double ChoiceRounds::whole_step(const Choices& preferred) {
  prepare(preferred);
  for (int i = 0; i < kWarmUp; ++i) step(nullptr);
  double least = 0;
  const Clock::time_point start = Clock::now();
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  for (int i = 0; i < 1 || (i < kMostTimed && since(start) < kTimedSeconds); ++i) {
    const Clock::time_point begin = Clock::now();
    step(nullptr);
    if (const double took = since(begin); i == 0 || took < least) least = took;
  }
  return least;
}

std::map<std::string, ChoiceTable::Offer> ChoiceRounds::offers() const {
  std::map<std::string, ChoiceTable::Offer> all = table_.offers();
  std::erase_if(all, [&](const auto& offer) {
    return uses_.count(offer.first) == 0 || offer.second.others.empty();
  });
  return all;
}

}  // namespace plimsoll::train
