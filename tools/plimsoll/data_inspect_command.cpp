#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>

#include "command_line.h"
#include "commands.h"
#include "inspect_records.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Decoding takes this much at most; a picture that needs more is only probed.
constexpr Bytes kMostDecoded = GiB(1);

/// What was found in a folder, or in one file.
struct FoundPictures {
  std::int64_t files = 0;
  std::int64_t others = 0;  ///< that are no pictures by name, and not read
  Bytes bytes = 0;
  std::map<std::string, std::int64_t> kinds;
  std::map<std::string, std::int64_t> classes;  ///< pictures of the folders in the folder
  int least_width = 0, most_width = 0, least_height = 0, most_height = 0;
  Bytes most_scratch = 0;
  std::vector<std::string> bad;
};

std::string picture_kind(const image::ImageInfo& info) {
  const bool jpeg = info.format == image::Format::jpeg;
  return fmt::format("{}{} {}",
                     !info.progressive ? ""
                     : jpeg            ? "progressive "
                                       : "interlaced ",
                     jpeg ? "JPEG" : "PNG",
                     info.channels == 1   ? "gray"
                     : info.channels == 2 ? "gray and alpha"
                     : info.channels == 3 ? "RGB"
                                          : "RGBA");
}

class DeviceScratch final : public image::Scratch {
 public:
  explicit DeviceScratch(const Device& device) : device_(device) {}
  void* allocate(Bytes bytes) override {
    block_ = device_.allocate(std::max<Bytes>(bytes, 1), Tag::decode, "inspect");
    return block_.data();
  }
  void free(void* /*pointer*/) noexcept override { block_ = Block(); }

 private:
  const Device& device_;
  Block block_;
};

/// Decodes all of it and keeps nothing.
void decode(std::span<const std::byte> data, const image::ImageInfo& info, const Device& device) {
  const image::DecodeOptions options{.channels = 0};
  const image::Extent extent = image::decoded_extent(info, options);
  const Bytes pixels = static_cast<Bytes>(extent.height) * static_cast<Bytes>(extent.width) *
                       static_cast<Bytes>(extent.channels);
  if (pixels + info.scratch > kMostDecoded) return;
  const Block out = device.allocate(pixels, Tag::decode, "inspect");
  DeviceScratch scratch(device);
  image::decode(data, info, options, scratch,
                image::packed(static_cast<std::uint8_t*>(out.data()), extent.height, extent.width,
                              extent.channels));
}

void look_at_picture(const fs::path& path, const Device& device, bool quick, FoundPictures& found) {
  ++found.files;
  try {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) throw DataError("not a regular file");
    const Bytes size = fs::file_size(path, error);
    if (error) throw DataError(error.message());
    found.bytes += size;
    const Block block = device.allocate(std::max<Bytes>(size, 1), Tag::decode, "inspect");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (!file) throw DataError(fmt::format("cannot be opened: {}", std::strerror(errno)));
    auto* const data = static_cast<std::byte*>(block.data());
    const std::size_t got = std::fread(data, 1, size, file.get());
    const image::ImageInfo info = image::probe({data, got});
    if (!quick) decode({data, got}, info, device);
    const bool first = found.kinds.empty();
    ++found.kinds[picture_kind(info)];
    found.least_width = first ? info.width : std::min(found.least_width, info.width);
    found.least_height = first ? info.height : std::min(found.least_height, info.height);
    found.most_width = std::max(found.most_width, info.width);
    found.most_height = std::max(found.most_height, info.height);
    found.most_scratch = std::max(found.most_scratch, info.scratch);
  } catch (const DataError& error) {
    found.bad.push_back(fmt::format("{}: {}", printable(path.string()), error.what()));
  }
}

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

/// Whether links to folders in this one are followed, as training follows them: they may be
/// classes.
bool has_classes(const fs::path& folder, const fs::path& top) {
  if (folder == top) return true;
  const std::string name = folder.filename().string();
  return folder.parent_path() == top &&
         (name == "train" || name == "val" || name == "validation" || name == "test");
}

/// Pictures by name in a folder and those in it, sorted. What cannot be looked into is bad. Hidden
/// folders are left out. Of a link to a folder only the files are looked at, so that none leads
/// round in a circle.
std::vector<fs::path> pictures_in(const fs::path& folder, FoundPictures& found) {
  std::vector<fs::path> paths;
  std::vector<fs::path> folders{folder};
  while (!folders.empty()) {
    const fs::path here = folders.back();
    folders.pop_back();
    std::error_code error;
    const bool linked = here != folder && fs::is_symlink(here, error);
    for (fs::directory_iterator at(here, error), end; !error && at != end; at.increment(error)) {
      std::error_code unknown;
      if (at->is_directory(unknown) && !unknown) {
        const bool hidden = at->path().filename().string().starts_with('.');
        const bool followed = !at->is_symlink(unknown) || has_classes(here, folder);
        if (!hidden && !linked && followed) folders.push_back(at->path());
      } else if (is_picture(at->path())) {
        paths.push_back(at->path());
      } else {
        ++found.others;
      }
    }
    if (error)
      found.bad.push_back(fmt::format("{}: {}", printable(here.string()), error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

FoundPictures look(const std::string& path, bool quick) {
  const Device device = Device::open("cpu:0");
  FoundPictures found;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error || !fs::exists(status)) {
    throw DataError(
        fmt::format("{}: {}", printable(path), error ? error.message() : "no such file or folder"));
  }
  if (!fs::is_directory(status)) {
    look_at_picture(path, device, quick, found);
    return found;
  }
  for (const fs::path& each : pictures_in(path, found)) {
    look_at_picture(each, device, quick, found);
    const fs::path inside = each.lexically_relative(path);
    if (inside.has_parent_path()) ++found.classes[inside.parent_path().string()];
  }
  if (found.files == 0 && found.bad.empty()) {
    throw DataError(fmt::format("{}: no JPEG or PNG files in it", printable(path)));
  }
  return found;
}

void run_inspect(const std::string& path, bool quick, bool json) {
  if (const auto records = find_records(path)) {
    inspect_records(*records, quick, json);
    return;
  }
  const FoundPictures found = look(path, quick);
  if (json) {
    const Json all = {{"files", found.files},
                      {"bytes", found.bytes},
                      {"other_files", found.others},
                      {"kinds", found.kinds},
                      {"classes", found.classes},
                      {"width", {found.least_width, found.most_width}},
                      {"height", {found.least_height, found.most_height}},
                      {"decode_bytes", found.most_scratch},
                      {"decoded", !quick},
                      {"bad", found.bad}};
    fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}, {}{}\n", counted(found.files, "image"), format_bytes(found.bytes),
               found.others > 0 ? "; " + counted(found.others, "other file") : "");
    for (const auto& [kind, count] : found.kinds) fmt::print("  {:>8}  {}\n", count, kind);
    if (!found.kinds.empty()) {
      fmt::print("width {} to {}, height {} to {}; decoding one takes up to {}\n",
                 found.least_width, found.most_width, found.least_height, found.most_height,
                 format_bytes(found.most_scratch));
    }
    if (!found.classes.empty()) {
      fmt::print("{}:\n",
                 counted(static_cast<std::int64_t>(found.classes.size()), "class", "classes"));
    }
    for (const auto& [name, count] : found.classes) {
      fmt::print("  {:>8}  {}\n", count, printable(name));
    }
    for (const std::string& bad : found.bad) fmt::print("bad: {}\n", bad);
    if (quick) fmt::print("headers only; without --quick every image is decoded\n");
  }
  if (found.bad.empty()) return;
  std::fflush(stdout);
  fmt::print(stderr, "{} of {} {} bad\n", format_count(static_cast<std::int64_t>(found.bad.size())),
             counted(found.files, "file"), found.bad.size() == 1 ? "is" : "are");
  throw EndWith{2};
}

}  // namespace

void add_data_inspect(Command& data) {
  Command* const command =
      data.add_subcommand("inspect", "Check images or records and name the bad ones");
  const auto path = std::make_shared<std::string>();
  const auto quick = std::make_shared<bool>(false);
  const auto json = std::make_shared<bool>(false);
  command->footer(
      "Examples:\n"
      "  plimsoll data inspect train\n"
      "  plimsoll data inspect \"records/*.tfrecord\" --json\n"
      "\n"
      "Exit code 2 if an image or a record is bad.");
  command->add_option("PATH", *path, "A file, a pattern or a folder")->required()->type_name("");
  command->add_flag("--quick", *quick, "Read the headers only");
  command->add_flag("--json", *json, "Print one JSON object, sizes in bytes");
  command->callback([path, quick, json] { run_inspect(*path, *quick, *json); });
}

}  // namespace plimsoll::tools
