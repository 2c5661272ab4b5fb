#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/metric_sums.h"
#include "train/trainer_impl.h"

namespace plimsoll::train {

/// Where a run is, besides weights and optimizer.
struct RunState {
  std::int64_t step = 0;
  std::int64_t epoch = 0;     ///< finished
  std::int64_t in_epoch = 0;  ///< steps of the one that is under way
  double loss_sum = 0;        ///< over its elements
  MetricSums metric_sums;     ///< the same, of its metrics
  std::int64_t loss_count = 0;
  std::vector<float> losses;
  std::vector<Metrics> history;
  std::optional<double> best;   ///< of the metric that decides on the best checkpoint
  std::optional<double> least;  ///< of the one that decides on stopping early
  std::int64_t without = 0;     ///< epochs without improvement of that
  std::map<std::string, Callback::State> callbacks;  ///< what they keep, by name
  std::string train_position;
  std::string validation_position;
  /// What must be the same for the run to go on to the bit: seed, batch, parts, precision, ...
  std::map<std::string, std::string> identity;
  /// Of the checkpoint's other files, by name, as it was read.
  std::map<std::string, std::string> digests;
};

/// A folder of checkpoints, each a folder of its own that appears as a whole:
///
///   DIR/step-00000120-epoch-0003/  model.safetensors  average.safetensors  state.json
///                                  losses.f32  train.position  validation.position
///                                  choices.json, where the device's libraries chose algorithms
///   DIR/latest, DIR/best: files with the name of one of them
///
/// Written under another name, flushed to the disk and renamed: a crash at any moment leaves the
/// checkpoints from before, and `latest` names one that is complete. state.json has digests of the
/// other files and of itself. Throws DataError, and StorageError where a disk is full.
class RunCheckpoints {
 public:
  /// Makes the folder, locks it for as long as this is there (InvalidArgument if another process
  /// has), and removes what killed saves left in it.
  RunCheckpoints(std::string folder, int kept);
  RunCheckpoints(const RunCheckpoints&) = delete;
  RunCheckpoints& operator=(const RunCheckpoints&) = delete;
  ~RunCheckpoints();

  /// Returns the path of the checkpoint. One of this step and epoch that is the latest is left as
  /// it is: a folder belongs to one run.
  std::string save(Trainer::Impl& trainer, const RunState& state, bool best);
  /// Goes to the latest, whose choices are from then on those that the device prefers; nullopt if
  /// there is none. InvalidArgument naming the difference if it is
  /// of a run with another `identity`; DataError, before anything is changed, if a file is not what
  /// was written.
  std::optional<RunState> load(Trainer::Impl& trainer,
                               const std::map<std::string, std::string>& identity) const;
  /// The path that `latest` names, or of the newest where it is missing; empty if there is none.
  std::string latest() const;

 private:
  void write_pointer(const std::string& name, const std::string& to) const;
  std::string read_pointer(const std::string& name) const;
  /// Names of all checkpoints, the oldest first.
  std::vector<std::string> complete() const;
  /// How to go on from a checkpoint other than `than`, for messages.
  std::string another(const std::string& than) const;
  [[noreturn]] void fail_damaged(const std::filesystem::path& checkpoint,
                                 const std::string& name) const;
  void require_intact(const std::filesystem::path& checkpoint, const RunState& state) const;
  void prune() const;
  /// Of saves that were killed; nobody else writes here while this has the lock.
  void remove_leftovers() const;

  std::string folder_;
  int kept_;
  int lock_ = -1;
};

}  // namespace plimsoll::train
