#pragma once

#include <memory>
#include <span>
#include <vector>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

struct ExecutorOptions {
  /// Fills memory with a pattern as soon as it is free, and checks after every task that nothing
  /// but its outputs has changed; an InternalError names the task. Slow.
  bool check = false;
};

/// Runs a plan. Takes the plan's range once; a step then allocates nothing.
class Executor {
 public:
  /// Parameters and state are the tensors that the graph's values are bound to; they must have
  /// data on `device`. Throws OutOfMemory if the range cannot be had.
  Executor(const Plan& plan, const Device& device, const ExecutorOptions& options = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  /// One step. `feeds` has a tensor for each of the graph's inputs, in their order, on any device
  /// that can be copied from.
  void run(std::span<const Tensor> feeds, const ops::RandomKey& random = {});

  /// The graph's outputs as the last step left them; the next one overwrites them.
  const std::vector<Tensor>& outputs() const;
  const Plan& plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::plan
