#include "check_images.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/image/info.h>

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostFiles = 20'000;
constexpr std::chrono::seconds kMostTime(5);
/// Headers are short; one with a large thumbnail is read again with more.
constexpr std::size_t kFirstBytes = 64 << 10;
constexpr std::size_t kMostBytes = 16 << 20;

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

/// What is wrong with a file's header; empty: nothing.
std::string wrong_with(const fs::path& path, std::vector<std::byte>& buffer) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return std::strerror(errno);
  std::size_t have = 0;
  for (const std::size_t most : {kFirstBytes, kMostBytes}) {
    buffer.resize(most);
    have += std::fread(buffer.data() + have, 1, most - have, file.get());
    if (std::ferror(file.get()) != 0) return std::strerror(errno);
    try {
      (void)image::probe({buffer.data(), have});
      return {};
    } catch (const DataError& error) {
      if (have < most || most == kMostBytes) return error.what();
    }
  }
  return {};
}

/// Entries of a folder that can be looked at, in the order of their names.
std::vector<fs::path> entries_of(const fs::path& folder, bool folders) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const bool fits = folders ? at->is_directory(unknown)
                              : at->is_regular_file(unknown) && is_image_name(at->path());
    if (fits && !unknown) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

void check_images(const std::string& folder, std::int64_t allowed, const std::string& option) {
  const Clock::time_point end = Clock::now() + kMostTime;
  std::vector<std::byte> buffer;
  std::string first;
  std::int64_t bad = 0;
  std::int64_t files = 0;
  for (const fs::path& of_class : entries_of(folder, true)) {
    for (const fs::path& path : entries_of(of_class, false)) {
      if (++files > kMostFiles || Clock::now() > end) return;
      const std::string wrong = wrong_with(path, buffer);
      if (wrong.empty()) continue;
      if (bad++ == 0) first = fmt::format("{}: {}", path.string(), wrong);
      if (bad > allowed) {
        throw DataError(fmt::format(
            "{}: {}{}; remove it, or train with --skip-errors N", option, first,
            allowed == 0
                ? ""
                : fmt::format(" (more than {} cannot be read)", counted(allowed, "file"))));
      }
    }
  }
}

}  // namespace plimsoll::tools
