#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// The commit that is checked out in the repository around `folder`, 40 or 64 hexadecimal digits;
/// empty where there is none, or its files say something else. Runs no command and throws nothing.
std::string git_commit(const std::filesystem::path& folder);

}  // namespace plimsoll
