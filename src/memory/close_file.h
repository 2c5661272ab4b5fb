#pragma once

#include <cstdio>

namespace plimsoll {

/// For std::unique_ptr<std::FILE, CloseFile>.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace plimsoll
