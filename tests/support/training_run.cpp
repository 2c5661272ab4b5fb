#include "support/training_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll::testing {
namespace {

constexpr std::size_t kGroup = 32;

double units(Work work) { return work.samples * work.length; }

}  // namespace

TrainingRun::TrainingRun(TraceBuilder& builder, Random& random, Model model, RunOptions options,
                         std::function<Work()> loader)
    : builder_(builder),
      random_(random),
      model_(std::move(model)),
      options_(options),
      loader_(std::move(loader)) {
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    last_reader_.push_back(i + 1);
    if (const int from = model_.layers[i].skip_from; from >= 0) last_reader_[from] = i;
    std::vector<Parameter>& made = parameters_.emplace_back();
    for (const Bytes bytes : model_.layers[i].parameters) {
      // Sharded parameters are held in eighths and gathered for each use.
      const Bytes held = options_.gather_parameters ? bytes / 8 : bytes;
      made.push_back({.value = take(static_cast<double>(held))});
    }
  }
}

TrainingRun::Slot TrainingRun::take(double bytes) {
  return builder_.allocate(std::max<Bytes>(16, static_cast<Bytes>(std::llround(bytes))));
}

void TrainingRun::drop_all(std::vector<Slot>& slots, bool reversed) {
  if (reversed) std::reverse(slots.begin(), slots.end());
  for (const Slot slot : slots) drop(slot);
  slots.clear();
}

/// The loader's threads run beside the step: a batch may arrive after any layer.
void TrainingRun::tick() {
  if (static_cast<int>(batches_.size()) < options_.prefetch && random_.chance(0.1)) fill();
}

void TrainingRun::fill() {
  const Work work = loader_();
  batches_.push_back(
      {work, take(model_.input * units(work)), take(model_.per_sample * work.samples)});
}

/// What comes and goes within a layer.
void TrainingRun::compute(const Layer& layer, Work work, double factor) {
  std::vector<Slot> slots;
  if (layer.workspace > 0) slots.push_back(take(static_cast<double>(layer.workspace)));
  for (const double bytes : layer.temporaries) slots.push_back(take(bytes * units(work) * factor));
  if (layer.scores > 0) {
    slots.push_back(take(layer.scores * work.samples * work.length * work.length));
  }
  drop_all(slots, random_.chance(0.5));
}

void TrainingRun::forward_layer(std::size_t i, Work work, Tape& tape, bool keep) {
  const Layer& layer = model_.layers[i];
  const double ratio = 1 + layer.spread;
  const double factor = layer.spread > 0 ? std::pow(ratio, 2 * random_.unit() - 1) : 1;
  std::vector<Slot> gathered;
  for (const Bytes bytes : layer.parameters) {
    if (options_.gather_parameters) gathered.push_back(take(static_cast<double>(bytes)));
    if (options_.half_copies) half_copies_.push_back(take(static_cast<double>(bytes) / 2));
  }
  Kept& kept = tape[i];
  const auto save = [&](double bytes) {
    kept.saved.push_back(take(bytes));
    kept.saved_bytes.push_back(builder_.bytes(kept.saved.back()));
  };
  const bool saved_first = random_.chance(0.5);
  if (keep && saved_first) {
    for (const double bytes : layer.saved) save(bytes * units(work) * factor);
  }
  compute(layer, work, factor);
  kept.output = take(layer.output * units(work) * factor);
  kept.output_bytes = builder_.bytes(*kept.output);
  if (keep && !saved_first) {
    for (const double bytes : layer.saved) save(bytes * units(work) * factor);
  }
  if (keep && layer.keep_scores) save(layer.scores * work.samples * work.length * work.length);
  drop_all(gathered);
  tick();
}

void TrainingRun::forget(Kept& kept, bool output) {
  drop_all(kept.saved);
  if (output && kept.output) {
    drop(*kept.output);
    kept.output.reset();
  }
}

void TrainingRun::restore(Kept& kept) {
  if (!kept.output) kept.output = take(static_cast<double>(kept.output_bytes));
  if (!kept.saved.empty()) return;
  for (const Bytes bytes : kept.saved_bytes) kept.saved.push_back(take(static_cast<double>(bytes)));
}

TrainingRun::Tape TrainingRun::forward(Work work, bool keep) {
  Tape tape(model_.layers.size());
  const auto every = static_cast<std::size_t>(options_.recompute_every);
  for (std::size_t i = 0; i < tape.size(); ++i) {
    forward_layer(i, work, tape, keep);
    if (!keep) {
      for (std::size_t j = 0; j < i; ++j) {
        if (last_reader_[j] == i) forget(tape[j], true);
      }
    } else if (every > 0 && i % every == every - 1) {
      for (std::size_t j = i + 1 - every; j <= i; ++j) {
        forget(tape[j], j < i && last_reader_[j] <= i);
      }
    } else if (options_.offload && i >= 2) {
      forget(tape[i - 2], false);
    }
  }
  return tape;
}

void TrainingRun::backward(Work work, Tape& tape, bool last) {
  std::vector<std::optional<Slot>> skipped(tape.size());
  const auto every = static_cast<std::size_t>(options_.recompute_every);
  Slot gradient = take(static_cast<double>(tape.back().output_bytes));
  for (std::size_t i = tape.size(); i-- > 0;) {
    const Layer& layer = model_.layers[i];
    if (every > 0 && (i % every == every - 1 || i + 1 == tape.size())) {
      for (std::size_t j = i - i % every; j <= i; ++j) {
        compute(model_.layers[j], work, 1);
        restore(tape[j]);
      }
    }
    if (options_.offload) {
      for (std::size_t ahead = 0; ahead < 3 && ahead <= i; ++ahead) restore(tape[i - ahead]);
    }
    if (skipped[i]) {  // two gradients meet here
      const Slot sum = take(static_cast<double>(tape[i].output_bytes));
      drop(*skipped[i]);
      drop(std::exchange(gradient, sum));
    }
    std::vector<Slot> gathered;
    if (options_.gather_parameters) {
      for (const Bytes bytes : layer.parameters) {
        gathered.push_back(take(static_cast<double>(bytes)));
      }
    }
    const Slot input_gradient =
        take(i > 0 ? static_cast<double>(tape[i - 1].output_bytes) : model_.input * units(work));
    if (const int from = layer.skip_from; from >= 0) {
      const Slot to_skip = take(static_cast<double>(tape[from].output_bytes));
      if (skipped[from]) {
        drop(to_skip);
      } else {
        skipped[from] = to_skip;
      }
    }
    compute(layer, work, 1);
    gradients(i, last);
    drop_all(gathered);
    forget(tape[i], true);
    drop(std::exchange(gradient, input_gradient));
    tick();
  }
  drop(gradient);
  reduce(0, true);
}

void TrainingRun::gradients(std::size_t layer, bool last) {
  std::vector<Parameter>& all = parameters_[layer];
  for (std::size_t i = all.size(); i-- > 0;) {
    Parameter& parameter = all[i];
    const Bytes bytes = builder_.bytes(parameter.value);
    const Slot made = take(static_cast<double>(model_.layers[layer].parameters[i]));
    if (parameter.gradient) {
      drop(made);  // added to what is there
    } else if (options_.gather_parameters) {
      parameter.gradient = take(static_cast<double>(bytes));
      drop(made);  // scattered
    } else {
      parameter.gradient = made;
    }
    if (!last) continue;
    if (options_.bucket > 0) reduce(bytes, false);
    if (options_.update_in_backward) update(parameter);
  }
}

/// Flattens gradients into buckets; two are on the wire while the next one fills.
void TrainingRun::reduce(Bytes bytes, bool flush) {
  in_bucket_ += bytes;
  if (in_bucket_ > 0 && (flush || in_bucket_ >= options_.bucket)) {
    buckets_.push_back(take(static_cast<double>(std::exchange(in_bucket_, 0))));
  }
  while (buckets_.size() > (flush ? 0 : 2)) {
    drop(buckets_.front());
    buckets_.pop_front();
  }
}

void TrainingRun::update(Parameter& parameter) {
  const auto bytes = static_cast<double>(builder_.bytes(parameter.value));
  std::vector<Slot> temporaries = {take(bytes)};
  while (static_cast<int>(parameter.state.size()) < options_.optimizer_states) {
    parameter.state.push_back(take(bytes));
  }
  temporaries.push_back(take(bytes));
  drop_all(temporaries);
  if (!options_.keep_gradients) {
    drop(*parameter.gradient);
    parameter.gradient.reset();
  }
}

void TrainingRun::update_all() {
  std::vector<Parameter*> all;
  for (std::vector<Parameter>& layer : parameters_) {
    for (Parameter& parameter : layer) all.push_back(&parameter);
  }
  const std::size_t group = options_.grouped_update ? kGroup : 1;
  for (std::size_t first = 0; first < all.size(); first += group) {
    const std::size_t end = std::min(first + group, all.size());
    std::vector<Slot> temporaries;
    for (std::size_t i = first; i < end && group > 1; ++i) {
      temporaries.push_back(take(static_cast<double>(builder_.bytes(all[i]->value))));
    }
    for (std::size_t i = first; i < end; ++i) update(*all[i]);
    drop_all(temporaries);
  }
}

void TrainingRun::train(int micro_batches) {
  for (int i = 0; i < micro_batches; ++i) {
    if (batches_.empty()) fill();
    const Batch batch = batches_.front();
    batches_.pop_front();
    Tape tape = forward(batch.work, true);
    drop(batch.input);
    backward(batch.work, tape, i + 1 == micro_batches);
    drop(batch.labels);
  }
  if (!options_.update_in_backward) update_all();
  drop_all(half_copies_);
  stash(random_.between(16, 512), static_cast<int>(random_.between(1, 60)));
  std::erase_if(stashed_, [&](Stashed& kept) {
    if (--kept.steps > 0) return false;
    drop(kept.slot);
    return true;
  });
}

void TrainingRun::validate(Work work, int batches) {
  std::vector<Slot> metrics;
  for (int i = 0; i < batches; ++i) {
    const Slot input = take(model_.input * units(work));
    Tape tape = forward(work, false);
    drop(input);
    for (Kept& kept : tape) forget(kept, true);
    metrics.push_back(take(work.samples * 4));
  }
  drop_all(half_copies_);
  drop_all(metrics);
}

void TrainingRun::generate(Work work, int tokens, Bytes per_token) {
  std::vector<Slot> caches;
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    caches.push_back(take(units(work) * static_cast<double>(per_token)));
  }
  for (int token = 1; token <= tokens; ++token) {
    const double length = work.length + token;
    for (Slot& cache : caches) {
      const Slot grown = take(work.samples * length * static_cast<double>(per_token));
      drop(std::exchange(cache, grown));
      drop(take(work.samples * length * 64));
      tick();
    }
  }
  drop_all(caches);
}

void TrainingRun::checkpoint(Bytes staging) {
  std::vector<Slot> copies;
  Bytes gathered = 0;
  for (const std::vector<Parameter>& layer : parameters_) {
    for (const Parameter& parameter : layer) {
      const Bytes bytes = builder_.bytes(parameter.value);
      if (gathered + bytes > staging) {
        drop_all(copies);
        gathered = 0;
      }
      copies.push_back(take(static_cast<double>(bytes)));
      gathered += bytes;
    }
  }
  drop_all(copies, true);
}

void TrainingRun::start_average() {
  for (std::vector<Parameter>& layer : parameters_) {
    for (Parameter& parameter : layer) {
      if (parameter.average) continue;
      parameter.average = take(static_cast<double>(builder_.bytes(parameter.value)));
    }
  }
}

void TrainingRun::stash(Bytes bytes, int steps) {
  stashed_.push_back({take(static_cast<double>(bytes)), steps});
}

void TrainingRun::penalty(Work work) {
  Tape first = forward(work, true);
  Tape second = forward(work, true);
  for (std::size_t i = first.size(); i-- > 0;) {
    forget(second[i], true);
    forget(first[i], true);
  }
}

void TrainingRun::close() {
  std::vector<Slot> all = std::move(half_copies_);
  for (std::vector<Parameter>& layer : parameters_) {
    for (Parameter& parameter : layer) {
      all.push_back(parameter.value);
      all.insert(all.end(), parameter.state.begin(), parameter.state.end());
      if (parameter.gradient) all.push_back(*parameter.gradient);
      if (parameter.average) all.push_back(*parameter.average);
    }
  }
  for (const Batch& batch : batches_) all.insert(all.end(), {batch.input, batch.labels});
  for (const Stashed& kept : stashed_) all.push_back(kept.slot);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.below(i)]);
  drop_all(all);
  parameters_.clear();
  batches_.clear();
  stashed_.clear();
}

}  // namespace plimsoll::testing
