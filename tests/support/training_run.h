#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "memory/trace_builder.h"
#include "support/training_model.h"

namespace plimsoll::testing {

/// How a model is trained, as far as it changes who allocates what and when.
struct RunOptions {
  int optimizer_states = 1;         ///< per parameter, made in the first update
  bool keep_gradients = false;      ///< zeroed in place rather than freed after the update
  bool update_in_backward = false;  ///< each gradient is applied and freed at once
  bool grouped_update = false;      ///< the optimizer works on 32 parameters at a time
  Bytes bucket = 0;                 ///< gradients are flattened into buckets for a reduction
  int recompute_every = 0;          ///< keep one output in so many layers, remake the others
  bool gather_parameters = false;   ///< whole layers are gathered before use, freed after it
  bool offload = false;             ///< saved tensors leave in the forward pass and come back
  bool half_copies = false;         ///< 16-bit copies of the parameters, from use to step's end
  int prefetch = 2;                 ///< input batches held ahead of the step
};

/// Writes the allocations of a training run into a TraceBuilder. The builder and the random
/// numbers may be shared by several runs. What is live when it goes stays live in the trace,
/// unless close() was called.
class TrainingRun {
 public:
  using Slot = std::uint32_t;

  /// Makes the parameters. `loader` says what each batch to come is.
  TrainingRun(TraceBuilder& builder, Random& random, Model model, RunOptions options,
              std::function<Work()> loader);

  /// A step: forward, backward and an update, over `micro_batches` batches from the loader.
  void train(int micro_batches = 1);
  /// Forward passes only.
  void validate(Work work, int batches);
  /// Writes `tokens` tokens one by one; the caches of every layer grow by concatenation.
  void generate(Work work, int tokens, Bytes per_token);
  /// Copies of all state, gathered in staging buffers of at most `staging` bytes.
  void checkpoint(Bytes staging);
  /// A second copy of the parameters, from now on.
  void start_average();
  /// Something that lives for `steps` more training steps: a metric, kept predictions.
  void stash(Bytes bytes, int steps);
  /// A forward pass whose gradient is itself differentiated: everything is kept twice.
  void penalty(Work work);
  /// Frees everything that is still live, in a random order.
  void close();

 private:
  struct Kept {
    std::optional<Slot> output;
    std::vector<Slot> saved;
    Bytes output_bytes = 0;
    std::vector<Bytes> saved_bytes;
  };
  using Tape = std::vector<Kept>;
  struct Parameter {
    Slot value = 0;
    std::optional<Slot> gradient{};
    std::vector<Slot> state{};
    std::optional<Slot> average{};
  };
  struct Batch {
    Work work;
    Slot input = 0;
    Slot labels = 0;
  };
  struct Stashed {
    Slot slot = 0;
    int steps = 0;
  };

  Slot take(double bytes);
  void drop(Slot slot) { builder_.release(slot); }
  void drop_all(std::vector<Slot>& slots, bool reversed = false);
  void tick();
  void fill();
  void compute(const Layer& layer, Work work, double factor);
  void forward_layer(std::size_t i, Work work, Tape& tape, bool keep);
  Tape forward(Work work, bool keep);
  void forget(Kept& kept, bool output);
  void restore(Kept& kept);
  void backward(Work work, Tape& tape, bool last);
  void gradients(std::size_t layer, bool last);
  void reduce(Bytes bytes, bool flush);
  void update(Parameter& parameter);
  void update_all();

  TraceBuilder& builder_;
  Random& random_;
  Model model_;
  RunOptions options_;
  std::function<Work()> loader_;
  std::vector<std::size_t> last_reader_;            // of each layer's output
  std::vector<std::vector<Parameter>> parameters_;  // by layer
  std::vector<Slot> half_copies_;
  std::deque<Batch> batches_;
  std::deque<Slot> buckets_;
  Bytes in_bucket_ = 0;
  std::vector<Stashed> stashed_;
};

}  // namespace plimsoll::testing
