#include "data/records/mds_index.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

constexpr Bytes kLongestIndex = MiB(256);

struct Known {
  std::string_view encoding;
  DType dtype;
};
constexpr std::array<Known, 16> kKnown = {{{"int", DType::i64},
                                           {"int64", DType::i64},
                                           {"int32", DType::i32},
                                           {"int16", DType::i16},
                                           {"int8", DType::i8},
                                           {"uint16", DType::u16},
                                           {"uint8", DType::u8},
                                           {"float64", DType::f64},
                                           {"float32", DType::f32},
                                           {"float16", DType::f16},
                                           {"bytes", DType::bytes},
                                           {"str", DType::bytes},
                                           {"json", DType::bytes},
                                           {"jpeg", DType::bytes},
                                           {"png", DType::bytes},
                                           {"jpegarray", DType::bytes}}};

std::string read_whole(const ByteSource& source) {
  const Bytes size = source.stamp().size;
  if (size > kLongestIndex) {
    throw DataError(fmt::format("it has {}, and at most {} is read", format_bytes(size),
                                format_bytes(kLongestIndex)));
  }
  std::string text(size, '\0');
  text.resize(source.read(text.data(), size, 0));
  return text;
}

/// A file's name that stays in its folder.
std::string basename_of(const Json& raw) {
  auto name = raw.at("basename").get<std::string>();
  if (name.empty() || name.starts_with('/') || name.find("..") != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throw DataError(fmt::format("a shard is called \"{}\"", printable(name)));
  }
  return name;
}

std::vector<MdsColumn> columns_of(const Json& shard) {
  const auto names = shard.at("column_names").get<std::vector<std::string>>();
  const auto encodings = shard.at("column_encodings").get<std::vector<std::string>>();
  const Json& sizes = shard.at("column_sizes");
  if (names.empty() || names.size() != encodings.size() || !sizes.is_array() ||
      sizes.size() != names.size()) {
    throw DataError("its columns have names, encodings and sizes of different number");
  }
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns.push_back(mds_column(names[i], encodings[i]));
    const Bytes size = sizes[i].is_null() ? 0 : sizes[i].get<Bytes>();
    if (size == columns.back().size) continue;
    throw DataError(fmt::format("column \"{}\" is {} with a size of {}", printable(names[i]),
                                encodings[i], size));
  }
  return columns;
}

bool same(const std::vector<MdsColumn>& a, const std::vector<MdsColumn>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name == y.name && x.encoding == y.encoding;
  });
}

void add_shard(const Json& shard, const std::string& folder, MdsIndex& index) {
  const auto format = shard.at("format").get<std::string>();
  if (format != "mds") throw DataError(fmt::format("a shard is \"{}\", not mds", format));
  if (const auto version = shard.at("version").get<int>(); version != 2) {
    throw DataError(fmt::format("version {} of the format; 2 is read", version));
  }
  if (shard.contains("compression") && !shard["compression"].is_null()) {
    throw DataError(fmt::format(
        "its shards are compressed ({}); write them without, or unpack them where they lie",
        shard["compression"].dump()));
  }
  auto columns = columns_of(shard);
  if (index.shards.empty()) {
    index.columns = std::move(columns);
  } else if (!same(index.columns, columns)) {
    throw DataError("its shards have different columns");
  }
  index.shards.push_back(
      {folder + basename_of(shard.at("raw_data")), shard.at("samples").get<std::uint64_t>()});
}

}  // namespace

MdsColumn mds_column(std::string name, std::string encoding) {
  const auto* const known = std::find_if(
      kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.encoding == encoding; });
  if (known == kKnown.end()) {
    throw DataError(
        fmt::format("column \"{}\" is encoded as {}; numbers, str, bytes, json, jpeg and png are "
                    "read, pickles are not",
                    printable(name), printable(encoding)));
  }
  return {std::move(name), std::move(encoding), dtype_size(known->dtype), known->dtype};
}

MdsIndex read_mds_index(const std::string& folder, const ByteStore& store) {
  const bool whole = folder.ends_with("index.json");
  const std::string path =
      whole ? folder : folder + (folder.ends_with('/') ? "" : "/") + "index.json";
  const std::string inside = path.substr(0, path.rfind('/') + 1);
  const auto source = store.open(path);
  try {
    const Json json = Json::parse(read_whole(*source));
    MdsIndex index;
    for (const Json& shard : json.at("shards")) add_shard(shard, inside, index);
    if (index.shards.empty()) throw DataError("it has no shards");
    return index;
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: {}", printable(path), error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", printable(path), error.what()));
  }
}

}  // namespace plimsoll::data
