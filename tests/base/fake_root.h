#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace plimsoll {

/// A directory that stands for "/", for code that reads /proc and /sys. Removed at the end.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "plimsoll-root-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  /// Writes a file, its folders included. `path` starts with a slash.
  FakeRoot& file(const std::string& path, const std::string& text) {
    const std::filesystem::path full = path_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
    return *this;
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace plimsoll
