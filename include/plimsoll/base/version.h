#pragma once

namespace plimsoll {

/// The library's version, "major.minor.patch". The string lives as long as the program.
const char* version() noexcept;

}  // namespace plimsoll
