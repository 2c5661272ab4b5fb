#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/storage_error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/record_writer.h>

#include "command_line.h"
#include "commands.h"
#include "mistakes.h"
#include "record_source.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using data::Dataset;
using data::RecordKind;

struct PackOptions {
  std::string source;
  std::string out;
  std::string format = "tfrecord";
  std::int64_t shards = 0;
  std::string shard_size = "256MiB";
  std::string compression = "none";
  std::string budget = "256MiB";
};

RecordKind kind_named(const std::string& name) {
  if (name == "webdataset") return RecordKind::webdataset;
  return name == "mds" ? RecordKind::mds : RecordKind::tfrecord;
}

/// The suffix that all files of a folder share: "jpg" or "png"; "img" where they differ.
std::string suffix_of(const Dataset& files) {
  const Device device = Device::open("cpu:0");
  data::Pipeline paths(files, device);
  std::string suffix;
  while (const auto element = paths.next()) {
    std::string here = fs::path(element->at(0).text()).extension().string();
    for (char& c : here) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    here = here == ".png" ? "png" : "jpg";
    if (!suffix.empty() && suffix != here) return "img";
    suffix = here;
  }
  return suffix;
}

/// The contents of the files of a folder per class, and their labels.
Dataset contents_of(const Dataset& files, const std::string& format) {
  data::MapFunction read;
  read.name = "read 1";
  read.random = false;
  const bool suffixes = format == "webdataset";
  read.output = data::ElementSpec{
      true,
      {data::TensorSpec::scalar(DType::bytes), data::TensorSpec::scalar(DType::i64)},
      {suffixes ? suffix_of(files) : "image", suffixes ? "cls" : "label"}};
  read.run = [](const data::Element& element, data::MapContext& context) {
    const data::FileBytes file = context.read_file(element.at(0).text());
    const auto bytes = file.bytes();
    return data::Element{context.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}),
                         element.at(1)};
  };
  return files.map(read, {.parallel = data::kAutotune}).prefetch();
}

/// A disk that is full or fails is nobody's mistake; a folder that cannot be written to is one.
[[noreturn]] void fail_to_write(const fs::path& path, int code) {
  const std::string text =
      fmt::format("{}: cannot be written: {}", printable(path.string()), std::strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO) {
    throw StorageError(text + "; free some space or write to another disk");
  }
  throw DataError(text);
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) fail_to_write(path.parent_path(), error.value());
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) fail_to_write(path, errno);
}

void pack(const PackOptions& options) {
  if (options.compression != "none" && options.format != "tfrecord") {
    throw InvalidArgument(fmt::format(
        "--compression {}: only TFRecord files can be compressed; use --format tfrecord, or leave "
        "--compression out",
        options.compression));
  }
  // Files of before that are not written over would be read with those of now.
  if (has_records(options.out)) {
    throw InvalidArgument(
        fmt::format("{}: this folder already has records; remove them, or give a new folder",
                    printable(options.out)));
  }
  std::vector<std::string> classes;
  const Dataset dataset = [&] {
    if (auto records = find_records(options.source)) {
      classes = records->classes;
      // Samples of tar files keep their names where they go into tar files.
      if (records->kind == "webdataset" && options.format == "webdataset") {
        records->features.emplace(records->features.begin(), "__key__", DType::bytes);
      }
      return all_records(*records);
    }
    std::error_code error;
    if (!fs::is_directory(options.source, error)) {
      throw DataError(
          fmt::format("{}: {}; give a folder with a folder of images per class, TFRecord, "
                      "WebDataset or MDS files, or a .csv file",
                      printable(options.source),
                      fs::exists(options.source, error) ? "neither records nor a folder"
                                                        : "there is no such file or folder"));
    }
    const Dataset files = Dataset::image_paths(options.source);
    classes = files.classes();
    return contents_of(files, options.format);
  }();
  data::WriteOptions write;
  write.format = kind_named(options.format);
  write.shards = options.shards;
  write.shard_bytes = parse_bytes(options.shard_size, "--shard-size");
  write.compression = options.compression == "gzip"   ? data::Compression::gzip
                      : options.compression == "zlib" ? data::Compression::zlib
                                                      : data::Compression::none;
  const Device device =
      Device::open("cpu:0", {.limit = Limit(parse_bytes(options.budget, "--budget"))});
  const data::WrittenRecords written = write_records(dataset, options.out, device, write);
  if (!classes.empty()) {
    write_file(fs::path(options.out) / kClassesFile,
               nlohmann::json{{"classes", classes}}.dump(1) + "\n");
  }
  fmt::print("{} in {}, {}\n", counted(written.records, "record"),
             counted(static_cast<std::int64_t>(written.files.size()), "file"),
             format_bytes(written.bytes));
}

/// What the first bytes of a file say it is.
std::string extension_of(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8\xFF")) return "jpg";
  if (bytes.starts_with("\x89PNG")) return "png";
  return "bin";
}

/// A name that stays in its folder.
std::string safe(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\0') c = '_';
  }
  return name == "." || name == ".." || name.empty() ? "_" : name;
}

/// Folders of classes without names are in the order of their numbers: "03" and "12", not "3".
void align_numbers(const fs::path& out, std::int64_t most) {
  const std::size_t digits = std::to_string(most).size();
  for (std::int64_t label = 0; label < most; ++label) {
    const std::string name = std::to_string(label);
    if (name.size() == digits) break;
    const fs::path wide = out / (std::string(digits - name.size(), '0') + name);
    std::error_code error;
    if (!fs::exists(out / name, error)) continue;
    fs::rename(out / name, wide, error);
    if (error) fail_to_write(wide, error.value());
  }
}

void unpack(const std::string& path, const std::string& out, const std::string& budget) {
  // Files of before would be written over, or taken for some of these.
  std::error_code unknown;
  if (fs::is_directory(out, unknown) && !fs::is_empty(out, unknown)) {
    throw InvalidArgument(
        fmt::format("{}: there are files in it already; give a new folder", printable(out)));
  }
  const auto records = find_records(path);
  if (!records) {
    throw DataError(
        fmt::format("{}: no records; give TFRecord, WebDataset or MDS files, or a folder of them",
                    printable(path)));
  }
  const Device device = Device::open("cpu:0", {.limit = Limit(parse_bytes(budget, "--budget"))});
  const Dataset dataset = picture_records(*records);
  data::Pipeline pipeline(dataset.prefetch(), device);
  std::int64_t count = 0;
  std::int64_t most = 0;
  while (const auto element = pipeline.next()) {
    const auto label = element->at(1).as<std::int64_t>();
    const bool named = label >= 0 && label < static_cast<std::int64_t>(records->classes.size());
    const std::string folder =
        named ? safe(records->classes[static_cast<std::size_t>(label)]) : std::to_string(label);
    most = std::max(most, label);
    const std::string_view bytes = element->at(0).text();
    write_file(fs::path(out) / folder / fmt::format("{:09}.{}", count, extension_of(bytes)), bytes);
    ++count;
  }
  if (records->classes.empty()) align_numbers(out, most);
  fmt::print("{} in {}\n", counted(count, "file"), printable(out));
}

}  // namespace

void add_data_pack(Command& data) {
  Command* const pack_command =
      data.add_subcommand("pack", "Write data as TFRecord, WebDataset or MDS");
  const auto options = std::make_shared<PackOptions>();
  pack_command
      ->add_option("SOURCE", options->source, "A folder with a folder per class, or records")
      ->required()
      ->type_name("");
  pack_command->footer(
      "Examples:\n"
      "  plimsoll data pack train records --format webdataset --shards 16\n"
      "  plimsoll data pack table.csv records --compression gzip\n"
      "\n"
      "SOURCE can also be records of another format, or a table (.csv).");
  pack_command->add_option("FOLDER", options->out, "The folder to write to")
      ->required()
      ->type_name("");
  pack_command
      ->add_option("--format", options->format, "Format of the records: tfrecord, webdataset, mds")
      ->type_name("NAME")
      ->check(OneOf{{"tfrecord", "webdataset", "mds"}})
      ->show_default();
  pack_command
      ->add_option("--shards", options->shards, "Number of files; default: as --shard-size says")
      ->check(is_count)
      ->type_name("N");
  pack_command->add_option("--shard-size", options->shard_size, "Approximate size of a file")
      ->type_name("SIZE")
      ->show_default();
  pack_command
      ->add_option("--compression", options->compression,
                   "Compression of TFRecord files: none, gzip, zlib")
      ->check(OneOf{{"none", "gzip", "zlib"}})
      ->type_name("NAME")
      ->show_default();
  pack_command->add_option("--budget", options->budget, "Memory limit")
      ->type_name("SIZE")
      ->show_default();
  pack_command->callback([options] { pack(*options); });

  Command* const unpack_command =
      data.add_subcommand("unpack", "Write the images in records to a folder per class");
  unpack_command->footer("Example:\n  plimsoll data unpack records images");
  unpack_command->add_option("SOURCE", options->source, "Files of records, or their folder")
      ->required()
      ->type_name("");
  unpack_command->add_option("FOLDER", options->out, "The folder to write to; not one with files")
      ->required()
      ->type_name("");
  unpack_command->add_option("--budget", options->budget, "Memory limit")
      ->type_name("SIZE")
      ->show_default();
  unpack_command->callback([options] { unpack(options->source, options->out, options->budget); });
}

}  // namespace plimsoll::tools
