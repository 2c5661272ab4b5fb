#pragma once

#include <cstdint>
#include <vector>

#include "plan/step_model.h"

namespace plimsoll::plan {

/// What becomes of a root between the forward and the backward pass.
enum Keeping : char {
  kDropped = 0,   ///< computed again at its next need, then kept to its last
  kKept = 1,      ///< until its last need, by a recomputation too
  kFleeting = 2,  ///< computed again at every need
  kAway = 3,      ///< copied to the host, and back before its next need
};

/// A root for as long as it is in memory; dropped and computed again, or fetched from the host, it
/// is another one.
struct Instance {
  int root = 0;
  int born = 0;  ///< task that writes it, or before which its copy begins; -1 for inputs
  int last = 0;  ///< last task that needs it, or that a copy of it runs beside
  /// The instance whose memory it takes over at `born`; -1 if none.
  int over = -1;
  bool stored = false;  ///< a copy to the host reads it, so that nothing takes over its memory
};

/// A copy between the device and the host, which runs beside the tasks.
struct Transfer {
  int instance = 0;  ///< the device's side
  bool out = false;  ///< to the host
  int begins = 0;    ///< when all tasks before this one are done
  int needed = 0;    ///< this task waits for it; the number of tasks: the step's end does
};

/// One run of a node.
struct Task {
  int work = 0;  ///< index into StepModel::work
  bool again = false;
  int first_instance = 0;  ///< of `inputs` in Schedule::reads, one for each of Work::inputs
  int first_output = 0;    ///< in Schedule::instances, one for each of Work::outputs
};

/// A run of a node, as a decision: which of its outputs are for the reads to come (bits by position
/// in Work::outputs). Run again, what is still there may be better than what comes new.
struct Run {
  int work = 0;
  std::uint64_t taken = 0;
};

/// A step with every run of every node, and when each piece of memory is needed.
struct Schedule {
  bool feasible = true;  ///< false: something would be computed again from overwritten state
  std::vector<Task> tasks;
  std::vector<Instance> instances;
  std::vector<int> reads;  ///< instances
  /// By `begins`; those that begin together in the order in which they are given to the device.
  std::vector<Transfer> transfers;
  Bytes host_bytes = 0;  ///< in the host's memory at most, state not counted
  Bytes peak = 0;        ///< most bytes at any task, workspace included, persistent ones not
  int peak_task = 0;
  /// Of each task, where tasks share launches: their sum is what a step takes. Empty on a device
  /// that runs tasks one by one: each takes its work's.
  std::vector<double> task_seconds;
  double seconds = 0;
  double again_seconds = 0;  ///< of which spent on computing again
  double wait_seconds = 0;   ///< and on waiting for copies
};

/// Builds schedules for decisions on what to keep. Reuses its memory: one per thread.
class Scheduler {
 public:
  explicit Scheduler(const StepModel& model);

  /// Whether tasks wait for copies rather than give them memory; see plan_transfers.
  void set_tight(bool tight) { tight_ = tight; }

  /// `keep[r]` is a Keeping.
  const Schedule& run(const std::vector<char>& keep);
  /// Every run in order, each of its inputs there when it comes.
  const Schedule& run(const std::vector<Run>& runs);

 private:
  void begin();
  void require(int root);
  void fetch(int root);
  void compute(int work, bool again);
  /// Adds a task. Its inputs are there; outputs have instances of their own, in nobody's use yet.
  void add_task(int work, bool again);
  void finish();

  const StepModel& model_;
  bool tight_ = false;
  const std::vector<char>* keep_ = nullptr;
  Schedule schedule_;
  int position_ = 0;             ///< in the base order
  std::vector<int> live_;        ///< by root: its instance, or -1
  std::vector<int> passing_;     ///< roots computed again that nobody needs after this position
  std::vector<int> written_at_;  ///< by value id: base position of the last write so far, or -1
  std::vector<int> stored_;      ///< by root: the instance that the host has a copy of, or -1
  std::vector<int> fetched_;     ///< instances that come from the host
  std::vector<Bytes> change_;
};

}  // namespace plimsoll::plan
