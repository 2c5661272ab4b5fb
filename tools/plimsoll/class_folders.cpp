#include "class_folders.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>

namespace plimsoll::tools {
namespace {
namespace fs = std::filesystem;
using data::Dataset;
}  // namespace

fs::path first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  std::error_code error;
  for (const char* name : names) {
    if (fs::is_directory(folder / name, error)) return folder / name;
  }
  return {};
}

std::vector<std::string> class_names(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const std::string name = at->path().filename().string();
    if (at->is_directory(unknown) && !unknown && !name.starts_with('.')) names.push_back(name);
  }
  if (error) {
    throw InvalidArgument(
        fmt::format("--data {}: {}; give digits, synthetic, a .txt or .csv file, records, or a "
                    "folder with a folder per class",
                    printable(path.string()), error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string counts_of(const Dataset& files) {
  constexpr std::size_t kNamed = 8;
  const std::vector<std::string> names = files.classes();
  const std::vector<std::int64_t> counts = files.class_counts();
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += fmt::format("{} {} {}", text.empty() ? "" : ",", printable(names[i]), counts[i]);
  }
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return fmt::format("{} in {}:{}", counted(files.cardinality(), "image"),
                     counted(static_cast<std::int64_t>(names.size()), "class", "classes"), text);
}

void warn_of_empty_classes(const std::string& path, const Dataset& files) {
  const std::vector<std::string> names = files.classes();
  const std::vector<std::int64_t> counts = files.class_counts();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[i] > 0) continue;
    log_warning(
        fmt::format("--data {}: the class '{}' has no images; remove the folder if it is "
                    "not one",
                    printable(path), printable(names[i])));
  }
}

void check_classes(const fs::path& path, const std::vector<std::string>& names,
                   std::int64_t classes) {
  if (names.size() < 2) {
    throw InvalidArgument(fmt::format(
        "--data {}: {}; give a folder that has one folder of images per class, for two or more "
        "classes",
        printable(path.string()),
        names.empty() ? "no folders in it" : "there is one class, " + printable(names[0])));
  }
  if (static_cast<std::int64_t>(names.size()) > classes) {
    throw InvalidArgument(
        fmt::format("--data {}: it has {} classes, the model {}; use data with those classes, or "
                    "train without --classes",
                    printable(path.string()), names.size(), classes));
  }
}

void check_same(const fs::path& path, const std::vector<std::string>& names,
                const std::vector<std::string>& trained) {
  const auto [here, there] =
      std::mismatch(names.begin(), names.end(), trained.begin(), trained.end());
  if (here == names.end() && there == trained.end()) return;
  const bool extra = here != names.end() && (there == trained.end() || *here < *there);
  throw InvalidArgument(fmt::format(
      "--data {}: the class {} is {}; use the same folders for both, or --no-validation",
      printable(path.string()), printable(extra ? *here : *there),
      extra ? "not among those of training" : "missing, which training has"));
}

}  // namespace plimsoll::tools
