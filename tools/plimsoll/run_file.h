#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "training_data.h"

namespace plimsoll::tools {

class Command;

// The options of a run, kept beside its checkpoints in run.json, so that `--resume FOLDER` is
// enough to go on.

/// The options that were given and say what the run is, by name, each as a list of its values.
nlohmann::ordered_json given_options(const Command& command);

/// The words of this process's command line.
std::vector<std::string> command_line();

/// Writes the options that were given to `command`, and the shape of the model. Throws DataError,
/// or StorageError where the disk is full or fails.
void save_run(const Command& command, const std::string& folder, const ModelShape& shape);

/// The shape of the model that the run in `folder` trains; nullopt where the run has none written.
/// DataError if the file is damaged.
std::optional<ModelShape> saved_shape(const std::string& folder);

/// Leaves the log's path in the folder, for `plimsoll report FOLDER`. Where that cannot be, the
/// report does without.
void save_log_path(const std::string& folder, const std::string& log);

/// Gives `command` the options of the run in `folder` that were not given now. Does nothing if it
/// has none, and returns false; DataError if the file is damaged.
bool restore_run(Command& command, const std::string& folder);

}  // namespace plimsoll::tools
