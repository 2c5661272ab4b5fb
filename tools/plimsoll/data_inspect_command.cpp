#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/data/pipeline.h>

#include "commands.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// What was found in a folder, or in one file.
struct Found {
  std::int64_t files = 0;
  Bytes bytes = 0;
  std::map<std::string, std::int64_t> kinds;
  int least_width = 0, most_width = 0, least_height = 0, most_height = 0;
  Bytes most_scratch = 0;
  std::vector<std::string> bad;
};

std::string kind_of(const image::ImageInfo& info) {
  return fmt::format("{}{} {}", info.progressive ? "progressive " : "",
                     info.format == image::Format::jpeg ? "JPEG" : "PNG",
                     info.channels == 1   ? "gray"
                     : info.channels == 2 ? "gray and alpha"
                     : info.channels == 3 ? "RGB"
                                          : "RGBA");
}

void look_at(const fs::path& path, const Device& device, Found& found) {
  ++found.files;
  try {
    std::error_code error;
    const Bytes size = fs::file_size(path, error);
    if (error) throw DataError(error.message());
    found.bytes += size;
    const Block block = device.allocate(std::max<Bytes>(size, 1), Tag::decode, "inspect");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (!file) throw DataError("cannot be opened");
    auto* const data = static_cast<std::byte*>(block.data());
    const std::size_t got = std::fread(data, 1, size, file.get());
    const image::ImageInfo info = image::probe({data, got});
    const bool first = found.kinds.empty();
    ++found.kinds[kind_of(info)];
    found.least_width = first ? info.width : std::min(found.least_width, info.width);
    found.least_height = first ? info.height : std::min(found.least_height, info.height);
    found.most_width = std::max(found.most_width, info.width);
    found.most_height = std::max(found.most_height, info.height);
    found.most_scratch = std::max(found.most_scratch, info.scratch);
  } catch (const DataError& error) {
    found.bad.push_back(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Found look(const std::string& path) {
  const Device device = Device::open("cpu:0");
  Found found;
  if (!fs::exists(path)) throw DataError(fmt::format("{}: no such file or folder", path));
  if (!fs::is_directory(path)) {
    look_at(path, device, found);
    return found;
  }
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& each : paths) look_at(each, device, found);
  return found;
}

void run(const std::string& path, bool json) {
  const Found found = look(path);
  if (json) {
    const Json all = {{"files", found.files},
                      {"bytes", found.bytes},
                      {"kinds", found.kinds},
                      {"width", {found.least_width, found.most_width}},
                      {"height", {found.least_height, found.most_height}},
                      {"decode_bytes", found.most_scratch},
                      {"bad", found.bad}};
    fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{} files, {}\n", found.files, format_bytes(found.bytes));
  for (const auto& [kind, count] : found.kinds) fmt::print("  {:>8}  {}\n", count, kind);
  if (!found.kinds.empty()) {
    fmt::print("width {} to {}, height {} to {}; decoding one takes up to {}\n", found.least_width,
               found.most_width, found.least_height, found.most_height,
               format_bytes(found.most_scratch));
  }
  for (const std::string& bad : found.bad) fmt::print("bad: {}\n", bad);
}

}  // namespace

void add_data_inspect(CLI::App& data) {
  CLI::App* const command =
      data.add_subcommand("inspect", "What is in a picture file or a folder of them");
  const auto path = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  command->add_option("path", *path, "A file or a folder")->required();
  command->add_flag("--json", *json, "Print one JSON object, sizes in bytes");
  command->callback([path, json] { run(*path, *json); });
}

}  // namespace plimsoll::tools
