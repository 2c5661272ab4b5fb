#include "data/records/index_file.h"

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

#include "data/records/crc32c.h"
#include "data/records/output_file.h"
#include "data/records/varint.h"
#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

constexpr std::string_view kMagic = "PLMINDX1";
constexpr std::size_t kHead = kMagic.size() + sizeof(std::uint32_t);

std::string encode(const RecordIndex& index, const std::string& key, const ByteStamp& stamp) {
  std::string body;
  put_varint(body, key.size());
  body += key;
  put_varint(body, stamp.size);
  put_varint(body, static_cast<std::uint64_t>(stamp.time));
  put_varint(body, index.broken.size());
  body += index.broken;
  put_varint(body, index.bounds.size());
  std::uint64_t before = 0;
  for (const std::uint64_t bound : index.bounds) {
    put_varint(body, bound - before);
    before = bound;
  }
  std::string file(kMagic);
  const std::uint32_t crc = crc32c(body.data(), body.size());
  for (int i = 0; i < 4; ++i) file.push_back(static_cast<char>(crc >> (8 * i)));
  return file + body;
}

/// nullopt where it is not the index of this file, for whatever reason.
std::optional<RecordIndex> decode(std::string_view file, const std::string& key,
                                  const ByteStamp& stamp) {
  if (!file.starts_with(kMagic) || file.size() < kHead) return std::nullopt;
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    crc |= std::uint32_t{static_cast<unsigned char>(file[kMagic.size() + i])} << (8 * i);
  }
  file.remove_prefix(kHead);
  if (crc32c(file.data(), file.size()) != crc || take_text(file) != key) return std::nullopt;
  if (take_varint(file) != stamp.size) return std::nullopt;
  if (take_varint(file) != static_cast<std::uint64_t>(stamp.time)) return std::nullopt;
  RecordIndex index;
  const auto broken = take_text(file);
  if (!broken) return std::nullopt;
  index.broken = *broken;
  const auto count = take_varint(file);
  if (!count || *count == 0 || *count > file.size()) return std::nullopt;
  index.bounds.resize(static_cast<std::size_t>(*count));
  std::uint64_t before = 0;
  for (std::uint64_t& bound : index.bounds) {
    const auto delta = take_varint(file);
    if (!delta || __builtin_add_overflow(before, *delta, &bound)) return std::nullopt;
    before = bound;
  }
  return index;
}

std::optional<RecordIndex> read(const std::string& path, const std::string& key,
                                const ByteStamp& stamp) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  try {
    const InputFile file(path);
    std::string bytes(file.size(), '\0');
    bytes.resize(file.read(bytes.data(), bytes.size(), 0));
    return decode(bytes, key, stamp);
  } catch (const DataError&) {
    return std::nullopt;  // it is built again
  }
}

}  // namespace

std::string index_path(const std::string& name, const std::string& key,
                       const RecordOptions& options) {
  if (options.index_folder.empty()) {
    const auto slash = name.rfind('/') + 1;  // 0 if there is none
    return fmt::format("{}.{}.plimsoll-index", name.substr(0, slash), name.substr(slash));
  }
  std::error_code error;
  const std::string whole = std::filesystem::absolute(name, error).string() + '\n' + key;
  const std::uint32_t low = crc32c(whole.data(), whole.size());
  const std::uint32_t high = crc32c(whole.data(), whole.size(), low);
  return fmt::format("{}/{:08x}{:08x}.plimsoll-index", options.index_folder, high, low);
}

RecordIndex read_or_build_index(const RecordFormat& format, const ByteSource& source,
                                std::size_t file, const ByteStamp& stamp,
                                const RecordOptions& options) {
  const std::string key = format.index_key();
  const bool kept = stamp.size >= options.index_from;
  const std::string path = kept ? index_path(source.name(), key, options) : "";
  if (kept) {
    if (auto found = read(path, key, stamp)) return std::move(*found);
  }
  ByteWindow window(source);
  RecordIndex index = format.index(window, file);
  if (!kept) return index;
  try {
    if (!options.index_folder.empty()) {
      std::error_code error;
      std::filesystem::create_directories(options.index_folder, error);
    }
    OutputFile out(path);
    out.write(encode(index, key, stamp));
    out.commit();
  } catch (const Error& error) {
    log_info(fmt::format("the index of {} is not kept: {}", source.name(), error.what()));
  }
  return index;
}

}  // namespace plimsoll::data
