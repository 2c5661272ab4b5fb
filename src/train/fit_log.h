#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/base/run_log.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/train/training_plan.h>

#include "train/memory_log.h"

namespace plimsoll::train {

/// What a fit writes to its run log besides single events: steps, plans, pipelines, memory. Where
/// the log writes nowhere, all of it is free. One thread at a time. docs/run-log.md has the format.
class FitLog {
 public:
  /// The log outlives it.
  explicit FitLog(RunLog& log) : log_(log) {}
  FitLog(const FitLog&) = delete;
  FitLog& operator=(const FitLog&) = delete;
  /// Writes what is left.
  ~FitLog() { finish(); }

  RunLog& log() { return log_; }
  /// Begins to write who holds what there.
  void watch(std::vector<Device> devices);
  /// A moment at which memory moves.
  void sample();
  /// What is left of steps and memory. Nothing follows.
  void finish();

  struct Step {
    std::int64_t step = 0;
    std::int64_t epoch = 0;  ///< epochs finished before it
    double loss = 0;
    std::optional<double> accuracy = {};
    double rate = 0;                     ///< learning rate
    std::optional<double> seconds = {};  ///< by the clock, without the wait for its batch
    double waited = 0;                   ///< seconds for its batch
    std::int64_t elements = 0;
    Bytes used = 0;
  };
  /// One line for each step up to 50,000 of them; after that one for 2 steps, and after each 25,000
  /// further lines for twice as many, with the least and the largest loss among them. No step is
  /// kept back for more than a second.
  void step(const Step& step);

  /// The plan that runs from now on. `why` is empty for the first.
  void plan(const TrainingPlan& plan, const std::string& why, std::int64_t step);
  /// What the tasks of the plan were found to take, by node id of its first step's graph.
  void op_times(const TrainingPlan& plan, std::span<const double> node_seconds);
  /// What a pipeline's stages have done. Unless `always`, only if the last line was long enough
  /// ago.
  void pipeline(const std::string& name, const data::Pipeline& pipeline, bool always);

 private:
  /// Lines at one stride; the first has twice as many.
  static constexpr std::int64_t kLinesPerStride = 25000;

  void flush();

  RunLog& log_;
  std::optional<MemoryLog> memory_;

  // Steps that wait to be written together.
  Step last_;
  std::int64_t count_ = 0;
  double loss_sum_ = 0;
  double loss_least_ = 0;
  double loss_most_ = 0;
  double accuracy_sum_ = 0;
  double rate_sum_ = 0;
  double seconds_sum_ = 0;
  double waited_sum_ = 0;
  std::int64_t elements_sum_ = 0;
  Bytes used_most_ = 0;
  double since_ = 0;  ///< time of the first of them
  std::int64_t stride_ = 1;
  std::int64_t lines_left_ = 2 * kLinesPerStride;
  std::int64_t plans_ = 0;
  double pipeline_pause_ = 2;
  double pipeline_written_ = 0;
};

}  // namespace plimsoll::train
