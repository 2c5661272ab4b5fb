#pragma once

#include <string>
#include <string_view>

namespace plimsoll::report {

/// Replaces the file when the new one is whole. DataError naming it if it cannot be written, or
/// StorageError where the disk is full or fails; what was there then stays.
void write_file(const std::string& path, std::string_view contents);

}  // namespace plimsoll::report
