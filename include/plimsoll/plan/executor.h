#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

struct ExecutorOptions {
  /// Fills memory with a pattern as soon as it is free, and checks after every task that nothing
  /// but its outputs has changed; an InternalError names the task. Slow.
  bool check = false;
  /// Let one launch stand for several tasks where the device has a kernel for that. Results have
  /// the same bits.
  bool fuse = true;
  /// Memory of the caller's that several executors share, as they never run at the same time: the
  /// plan's range, the workspace slot, and the copies of the outputs one after the other at
  /// multiples of 256 bytes. Each must be large enough. Null: the executor takes its own.
  std::shared_ptr<Storage> range = nullptr;
  std::shared_ptr<Storage> workspace = nullptr;
  std::shared_ptr<Storage> outputs = nullptr;
  /// The host's memory for what a plan puts there for a while; must be given if there is such. It
  /// should be pinned, or the device's copies wait for the host's.
  std::shared_ptr<Storage> host = nullptr;
  /// The stream that steps run on, and those of copies to the host and from it; new ones where
  /// there are none.
  std::optional<StreamId> stream = std::nullopt;
  std::optional<StreamId> to_host = std::nullopt;
  std::optional<StreamId> from_host = std::nullopt;
  /// The tensor that stands for a parameter or a state now, for graphs that were traced before it
  /// had data; an undefined one means the graph's own.
  std::function<Tensor(const graph::Value& value)> bind = nullptr;
};

/// Runs a plan. Takes the plan's range once, or is given it; a step then allocates nothing.
class Executor {
 public:
  /// Parameters and state are the tensors that the graph's values are bound to; they must have
  /// data on `device`, but for state that the plan has in the host's memory. Throws OutOfMemory if
  /// the range cannot be had, InvalidArgument if memory that was given is too small.
  Executor(const Plan& plan, const Device& device, const ExecutorOptions& options = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  /// One step. `feeds` has a tensor for each of the graph's inputs, in their order, on any device
  /// that can be copied from. On a GPU it returns when the work is submitted; the second step is
  /// recorded, and later ones replay it.
  void run(std::span<const Tensor> feeds, const ops::RandomKey& random = {});

  /// A step like any other, which runs its tasks one by one, never replays one, and waits at its
  /// end: the seconds that each of plan().tasks took, by the device's clock.
  std::vector<double> run_timed(std::span<const Tensor> feeds, const ops::RandomKey& random = {});

  /// What the libraries were asked to choose for each of plan().tasks, as it was prepared: keys of
  /// the device's ChoiceTable. Empty unless that was exploring() then.
  const std::vector<std::vector<std::string>>& choice_keys() const;

  /// Until the last step is done.
  void wait() const;
  /// The graph's outputs as the last step left them, which it waits for; the next one overwrites
  /// them.
  const std::vector<Tensor>& outputs() const;
  /// Copies output `index` of the last step to the host's memory `to`, in the order of the steps'
  /// stream; whoever reads it waits for a fence of that.
  void copy_output(std::size_t index, void* to) const;
  const Plan& plan() const;

 private:
  struct State;
  void begin(std::span<const Tensor> feeds, const ops::RandomKey& random);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::plan
