#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/device/device.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll::train {

/// A persistent tensor's place in its block.
struct PackedTensor {
  std::string name;  ///< as the graphs have it: "conv1.weight", "optimizer.momentum.conv1.weight"
  TensorType type;
  Bytes offset = 0;
};

/// Persistent tensors of one tag in one block.
struct PackedBlock {
  Tag tag = Tag::parameters;
  std::string label;
  Bytes bytes = 0;
  std::vector<PackedTensor> tensors;
};

/// How one kind of batch is worked on.
struct Phase {
  enum class Kind : std::uint8_t { train, validation };
  Kind kind = Kind::train;
  std::int64_t batch = 0;
  /// Micro-batches that a batch is split into.
  std::int64_t parts = 1;
  /// One plan; or, split, those of the first, a middle (from three parts on) and the last.
  std::vector<std::shared_ptr<const plan::Plan>> steps;
  /// What the outputs are: "loss", "accuracy".
  std::vector<std::string> outputs;

  /// Of the memory they share, and of its time for a batch.
  Bytes range() const;
  Bytes host() const;
  double seconds() const;
  /// The plan for micro-batch `part`.
  const plan::Plan& step(std::int64_t part) const;
};

/// Everything a training run will take, before anything is taken. Immutable data.
///
/// Persistent tensors lie packed in one block per tag; every phase computes in the same range.
struct TrainingPlan {
  plan::DeviceDescription device;
  /// The device it was made for; without one it cannot be run.
  std::optional<Device> target;
  /// Everything on the device.
  Bytes budget = 0;
  Bytes page_size = 0;

  std::vector<PackedBlock> blocks;
  /// State that is in pinned memory of the host between steps; no tensors: none is.
  PackedBlock away;
  std::vector<Phase> phases;  ///< the first is that of the full training batch
  Bytes range = 0;            ///< the largest of any phase
  Bytes outputs = 0;
  Bytes workspace = 0;
  Bytes runtime = 0;
  /// What others held on the device when the plan was made.
  Bytes others = 0;
  /// Limit for the input pipelines, which share it; within `budget` where they run on the device.
  Bytes input = 0;
  Bytes input_least = 0;  ///< with less they cannot run
  /// What the plan leaves free, which pipelines may use on top of `input` for as long as nobody
  /// else asks for it: a large file, a larger window in memory. Not in total().
  Bytes lent = 0;
  /// On the CPU: of the process's heap, for graphs, plans and executors; see docs/limits.md. Small
  /// models have none.
  Bytes heap = 0;
  /// Host memory, pinned: what may be taken of it, what the largest step puts there for a while,
  /// and where it comes from.
  Bytes offload = 0;
  Bytes host = 0;
  std::optional<Device> host_device;
  /// Pages of all blocks.
  Bytes charged = 0;
  /// What planned_peak() would be, unsplit, if everything that gradients need were kept at once
  /// and nothing computed in place, again or early: to compare with.
  Bytes unconstrained_peak = 0;
  /// Of which is there all through a training step; see Planner::kept_bytes.
  Bytes unconstrained_kept = 0;

  /// Bytes of the arena that training holds at its peak: what is measured, to the byte.
  Bytes planned_peak() const;
  /// Bytes of pinned host memory that training holds.
  Bytes pinned() const { return away.bytes + host; }
  /// What the budget is charged with at most.
  Bytes total() const { return charged + runtime + heap + others + input; }
  std::int64_t batch() const { return phases.front().batch; }
  std::int64_t parts() const { return phases.front().parts; }
  /// Null if there is none.
  const Phase* find(Phase::Kind kind, std::int64_t batch) const;
  /// What is held when the full training batch is at its peak.
  std::map<Tag, Bytes> at_peak() const;

  /// "fits: 6.7 of 7.0 GiB ..." for people.
  std::string explain() const;
  /// The same for programs: one object.
  std::string to_json() const;
};

}  // namespace plimsoll::train
