#pragma once

#include <filesystem>
#include <string>

#include <plimsoll/report/run.h>

namespace plimsoll::report {

/// The last part of a path: what a run is called.
std::string name_of(const std::filesystem::path& path);

/// True if the process that writes this log is there, and has written lately.
bool goes_on(const Run& run, const std::filesystem::path& log);

}  // namespace plimsoll::report
