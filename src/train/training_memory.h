#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/device/owned_stream.h>
#include <plimsoll/plan/op_times.h>
#include <plimsoll/train/training_plan.h>

namespace plimsoll::train {

/// The memory of a training, all of it, in a session of its own: persistent tensors, outputs,
/// workspace, and the range in which every phase computes. What it has in the host's memory is
/// pinned, in an arena of its own under the host's budget.
///
/// Persistent tensors are seen as the device's, not the session's, and keep the session open: they
/// stay with the variables that have them when this is gone, and work beside other tensors.
class TrainingMemory {
 public:
  /// Takes everything the plan says. Throws OutOfMemory and has taken nothing.
  TrainingMemory(const TrainingPlan& plan, const Device& device);
  TrainingMemory(const TrainingMemory&) = delete;
  TrainingMemory& operator=(const TrainingMemory&) = delete;
  /// Gives everything back but the blocks of tensors that somebody still has.
  ~TrainingMemory();

  const TrainingPlan& plan() const { return plan_; }
  /// The session's.
  const Device& device() const { return session_->device(); }
  /// Steps run on it, one after the other.
  StreamId stream() const { return stream_.id(); }
  /// The one it lies on.
  const Device& parent() const { return parent_; }
  ArenaStats stats() const { return session_->arena().stats(); }
  /// A persistent tensor; undefined if there is none of that name.
  Tensor find(const std::string& name) const;
  /// True if this memory serves `plan` as it is, or with another range.
  bool serves(const TrainingPlan& plan) const;

  /// True if its plan has all batches that `plan` has, split as they are there.
  bool covers(const TrainingPlan& plan) const;

  /// What the device's budget is charged with for it, and what of that persists when the range is
  /// let go.
  Bytes charged() const;
  Bytes persistent_bytes() const;
  /// Lets the range go until the next executor takes it again. Executors made before must be gone.
  void let_range_go();

  /// What it holds of the host's memory for values of a step.
  Bytes host_bytes() const { return host_ == nullptr ? 0 : host_->size(); }

  /// True if its plan is this one, or a copy of it.
  bool holds(const TrainingPlan& plan) const;

  /// Lets the range go and takes that of `plan`, which is like the one before but for its phases.
  /// Executors made before must be gone. Throws OutOfMemory, of the host's memory too; then the old
  /// plan holds. Throws Error where others took the old range meanwhile: then nothing runs until
  /// executor() has it again.
  void replan(const TrainingPlan& plan);
  /// Adds a phase that fits.
  void add(Phase phase) { plan_.phases.push_back(std::move(phase)); }

  /// While one is there the range must stay where it is: somebody beside fit() runs in it.
  class Use {
   public:
    explicit Use(TrainingMemory& memory) : memory_(memory) { ++memory_.uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { --memory_.uses_; }

   private:
    TrainingMemory& memory_;
  };
  bool in_use() const { return uses_ != 0; }

  /// Runs `step` in the range. With `average`, parameters are their moving averages. Outputs go to
  /// the plan's place for them, or to `outputs`. Throws OutOfMemory if the range was lost and is
  /// not to be had.
  std::unique_ptr<plan::Executor> executor(const plan::Plan& step, bool average,
                                           const std::shared_ptr<Storage>& outputs = nullptr);
  /// What the nodes of `step` take; between steps only, as the range is used for it.
  std::vector<double> measure(const plan::Plan& step);

 private:
  plan::ExecutorOptions options(bool average);
  void unpack(const PackedBlock& block, const std::shared_ptr<Storage>& storage);
  void take_range(Bytes bytes);
  void take_range_again();
  std::shared_ptr<Storage> pinned(Bytes bytes, Tag tag) const;
  std::shared_ptr<Storage> persistent(const PackedBlock& block) const;

  TrainingPlan plan_;
  Device parent_;
  std::shared_ptr<Session> session_;
  std::vector<RemedyHandle> remedies_;
  OwnedStream stream_;
  OwnedStream to_host_;
  OwnedStream from_host_;
  std::shared_ptr<Arena> pinned_;  ///< null: nothing is in the host's memory
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<Storage> outputs_;
  std::shared_ptr<Storage> workspace_;
  std::shared_ptr<Storage> range_;  ///< null: lost, see replan()
  std::shared_ptr<Storage> host_;   ///< where steps put values for a while
  Charge heap_;                     ///< TrainingPlan::heap
  int uses_ = 0;
};

}  // namespace plimsoll::train
