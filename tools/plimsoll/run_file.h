#pragma once

#include <string>

namespace CLI {
class App;
}

namespace plimsoll::tools {

// The options of a run, kept beside its checkpoints in run.json, so that `--resume FOLDER` is
// enough to go on.

/// Writes the options that were given to `command`. Throws DataError, or StorageError where the
/// disk is full or fails.
void save_run(const CLI::App& command, const std::string& folder);

/// Gives `command` the options of the run in `folder` that were not given now. Does nothing if it
/// has none, and returns false; DataError if the file is damaged.
bool restore_run(CLI::App& command, const std::string& folder);

}  // namespace plimsoll::tools
