#pragma once

#include <filesystem>

namespace plimsoll {

/// The folder tests/ of the sources. A function, so that no other file is compiled with a path in
/// its flags, and a compiler cache serves clones wherever they lie.
std::filesystem::path test_source_dir();

}  // namespace plimsoll
