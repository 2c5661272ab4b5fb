#pragma once

#include <map>
#include <string>

#include <plimsoll/nn/module.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/loss_scale.h>

namespace plimsoll::train {

/// What a checkpoint is of. Null: not saved, and left alone when loading.
struct CheckpointParts {
  const nn::Module* module = nullptr;
  optim::Optimizer* optimizer = nullptr;
  LossScale* loss_scale = nullptr;
};

/// Writes a safetensors file, whole or not at all (see save_safetensors): parameters and buffers
/// under their names, the optimizer's state under "optimizer.NAME", the loss scale's under
/// "loss_scale.NAME", and the step in the metadata beside what the caller gives.
void save_checkpoint(const std::string& path, const CheckpointParts& parts,
                     const std::map<std::string, std::string>& metadata = {});

struct LoadOptions {
  /// Tensors of the file that nobody wants are an error, other than those of nn::is_left_out().
  bool strict = true;
  /// What names of the module begin with and those of the file do not: "encoder.". That of Hugging
  /// Face's base models (nn::lacking_prefix()) is found without being named.
  std::string prefix = {};
};

/// Reads one, of ours or of anybody's with fitting names. Parameters and state that have no data
/// are allocated on `device`, others are overwritten; floating values of another dtype are
/// converted. Everything is checked against the file's header, and allocated, before anything is
/// changed: DataError names file and tensor if one is missing, of another shape, or unexpected.
/// Returns the metadata.
std::map<std::string, std::string> load_checkpoint(const std::string& path,
                                                   const CheckpointParts& parts,
                                                   const Device& device,
                                                   const LoadOptions& options = {});

/// Reads the files of a checkpoint that a run wrote ("run/step-00000120-epoch-0003") and compares
/// them with the digests in its state.json. DataError naming the file if one is not what was
/// written. A folder without a state.json passes: there is nothing to compare with.
void verify_checkpoint(const std::string& folder);

}  // namespace plimsoll::train
