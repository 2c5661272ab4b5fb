#pragma once

#include <optional>
#include <string>

#include "train/fit_input.h"
#include "train/run_checkpoint.h"

namespace plimsoll::train {

/// How a fit saves itself and goes on: when, where to, and where else if that fails.
class FitCheckpoints {
 public:
  FitCheckpoints(Trainer::Impl& impl, const TrainingMemory& memory, FitInput& input,
                 RunState& state, RunLog& log, const FitOptions& options)
      : impl_(impl), memory_(memory), input_(input), state_(state), log_(log), options_(options) {}

  /// Opens the folder, if one is named. Throws InvalidArgument for a pipeline that cannot be saved,
  /// and for a folder that has the checkpoints of a run which is not resumed.
  void open();
  /// Whether a folder is named.
  bool kept() const { return folder_.has_value(); }
  /// Goes to the latest checkpoint; false if it is not asked to, or there is none.
  bool resume();
  /// Before anything is trained: throws InvalidArgument if checkpoints could not keep what
  /// callbacks have.
  void check_callbacks() const;
  /// Whether one is to be written after `step`.
  bool due(std::int64_t step) const;
  /// One that is due while training goes on: warns where it cannot be written, and tries again
  /// later. False if it was not written.
  bool write(bool best);
  /// The last one of the run, wherever it can be written. Throws what went wrong with the folder
  /// that was named if it cannot be written anywhere.
  void write_last();
  /// An error ends the run between two steps: saves them, if a folder is named, and throws nothing.
  void write_before_error() noexcept;
  /// What a run that goes on from one must have in common with it, by name.
  std::map<std::string, std::string> identity() const;
  /// The path of the last one that was written; empty if none was.
  const std::string& written() const { return written_; }

 private:
  void save(bool best);
  std::map<std::string, Callback::State> kept_by_callbacks() const;

  Trainer::Impl& impl_;
  const TrainingMemory& memory_;
  FitInput& input_;
  RunState& state_;
  RunLog& log_;
  const FitOptions& options_;
  std::optional<RunCheckpoints> folder_;
  std::int64_t retry_at_ = -1;  ///< step after which one is tried again; below 0: none is
  std::string written_;
};

}  // namespace plimsoll::train
