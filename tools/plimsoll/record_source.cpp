#include "record_source.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using data::Dataset;
using data::Feature;
using data::Features;

bool ends_like(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const char* end) { return name.ends_with(end); });
}

/// Whether it ends like "train-00000-of-01024", as TensorFlow's own scripts name their files.
bool is_shard_name(std::string name) {
  constexpr std::string_view kEnd = "-00000-of-00000";
  if (name.size() < kEnd.size() || name.find('.') != std::string::npos) return false;
  for (char& c : name) c = std::isdigit(static_cast<unsigned char>(c)) != 0 ? '0' : c;
  return name.ends_with(kEnd);
}

/// The kind of records that a file of this name has; empty if none.
std::string kind_of(const std::string& name) {
  if (ends_like(name, {".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrec"})) return "tfrecord";
  if (name.find(".tfrecord-") != std::string::npos)
    return "tfrecord";  // "x.tfrecord-00000-of-00064"
  if (is_shard_name(name)) return "tfrecord";
  if (ends_like(name, {".tar", ".tar.gz", ".tgz"})) return "webdataset";
  if (lower_extension(name) == ".csv") return "csv";
  return {};
}

/// The record files of a folder, sorted: those of the first kind that there are any of.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    // A folder of pictures may have a table beside them.
    const std::string kind = kind_of(name);
    const bool wanted = kind == "tfrecord" || kind == "webdataset";
    if (!name.starts_with('.') && wanted && at->is_regular_file(unknown)) {
      names.push_back(at->path().string());
    }
  }
  std::sort(names.begin(), names.end());
  if (!names.empty()) {
    const std::string kind = kind_of(names.front());
    std::erase_if(names, [&](const std::string& name) { return kind_of(name) != kind; });
  }
  return names;
}

/// Whether the index.json of a folder is that of MDS shards, by how it begins.
bool has_mds_index(const std::string& folder) {
  std::ifstream in(fs::path(folder) / "index.json", std::ios::binary);
  std::string head(256, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("\"shards\"") != std::string::npos;
}

/// The shards that index.json names, which mds_columns() has found good.
std::vector<std::string> mds_files(const std::string& folder) {
  std::ifstream in(fs::path(folder) / "index.json");
  std::vector<std::string> files;
  const auto index = nlohmann::json::parse(in);
  for (const auto& shard : index.at("shards")) {
    const auto name = shard.at("raw_data").at("basename").get<std::string>();
    files.push_back((fs::path(folder) / name).string());
  }
  return files;
}

std::vector<std::string> classes_beside(const std::string& file) {
  std::ifstream in(fs::path(file).parent_path() / kClassesFile);
  if (!in) return {};
  try {
    return nlohmann::json::parse(in).at("classes").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format(
        "{}: {}", printable((fs::path(file).parent_path() / kClassesFile).string()), error.what()));
  }
}

const Feature* find(const Features& features, std::initializer_list<const char*> names,
                    DType dtype) {
  const auto fits = [&](const Feature& each) {
    return each.spec.dtype == dtype && each.spec.dims->empty();
  };
  for (const char* name : names) {
    for (const Feature& each : features) {
      if (each.name == name && fits(each)) return &each;
    }
  }
  for (const Feature& each : features) {
    if (fits(each)) return &each;
  }
  return nullptr;
}

Dataset with_features(const RecordSource& source, const Features& features) {
  if (source.kind == "tfrecord") return Dataset::tfrecords(source.files, features);
  if (source.kind == "webdataset") return Dataset::webdataset(source.files, features);
  if (source.kind == "csv") return Dataset::csv(source.files, features);
  std::vector<std::string> columns;
  for (const Feature& each : features) columns.push_back(each.name);
  return Dataset::mds(source.path, columns);
}

}  // namespace

std::string lower_extension(const std::string& name) {
  std::string end = fs::path(name).extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end;
}

std::optional<RecordSource> find_records(const std::string& path) {
  RecordSource source;
  source.path = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (has_mds_index(path)) {
      source.kind = "mds";
      source.features = data::mds_columns(path);
      source.files = mds_files(path);
      source.classes = classes_beside((fs::path(path) / "index.json").string());
      return source;
    }
    source.files = files_in(path);
    if (source.files.empty()) return std::nullopt;
  } else {
    const std::string name = fs::path(path).filename().string();
    const bool pattern = path.find_first_of("*?[{") != std::string::npos;
    if (kind_of(name).empty() || (!pattern && !fs::exists(path, error))) return std::nullopt;
    source.files = data::Shards(path).files();
  }
  source.kind = kind_of(fs::path(source.files.front()).filename().string());
  source.classes = classes_beside(source.files.front());
  if (source.kind == "tfrecord") source.features = data::tfrecord_features(source.files);
  if (source.kind == "webdataset") source.features = data::webdataset_features(source.files);
  if (source.kind == "csv") source.features = data::csv_columns(source.files);
  return source;
}

bool has_records(const std::string& folder) {
  return has_mds_index(folder) || !files_in(folder).empty();
}

Dataset shuffled(const Dataset& records) {
  constexpr std::int64_t kWindow = 4096;
  try {
    return records.shuffle();
  } catch (const InvalidArgument&) {
    return records.shuffle(kWindow);
  }
}

Dataset all_records(const RecordSource& source) { return with_features(source, source.features); }

Dataset picture_records(const RecordSource& source) {
  const Feature* const picture =
      find(source.features, {"image", "image/encoded", "jpg", "jpeg", "png", "img"}, DType::bytes);
  const Feature* const label =
      find(source.features, {"label", "image/class/label", "cls", "class"}, DType::i64);
  if (picture == nullptr || label == nullptr) {
    std::string names;
    for (const Feature& each : source.features) {
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", printable(each.name),
                           each.spec.to_string());
    }
    throw InvalidArgument(
        fmt::format("{}: its records have {}; they need an image (bytes) and a label (i64)",
                    printable(source.path), names.empty() ? "no features" : names));
  }
  return with_features(source, {*picture, *label});
}

}  // namespace plimsoll::tools
