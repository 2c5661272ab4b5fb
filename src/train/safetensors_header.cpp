// Reading a safetensors header that may be anything at all.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

#include "train/safetensors_dtype.h"

namespace plimsoll::train {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view file, const std::string& message) {
  throw DataError(fmt::format("[safetensors] {}: {}", file, message));
}

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/// A name as it may stand in a message: short, and without what a terminal would act on.
std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 80)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text + (name.size() > 80 ? "..." : "");
}

/// nlohmann keeps the last of two equal keys without a word; a header with two is refused.
Json parse_json(std::span<const std::uint8_t> text, std::string_view file) {
  std::vector<std::unordered_set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    refuse(file, fmt::format("the header is not JSON ({})", shown(error.what())));
  }
  if (!twice.empty()) refuse(file, fmt::format("'{}' is there twice", shown(twice)));
  if (!header.is_object()) refuse(file, "the header is not a JSON object");
  return header;
}

std::optional<std::uint64_t> unsigned_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) return std::nullopt;
  return value.get<std::uint64_t>();
}

SafetensorsHeader::Entry parse_entry(const std::string& name, const Json& json,
                                     std::string_view file) {
  const auto wrong = [&](const std::string& what) {
    refuse(file, fmt::format("tensor '{}' {}", shown(name), what));
  };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    wrong("needs dtype, shape and data_offsets, and nothing else");
  }
  SafetensorsHeader::Entry entry{.name = name};
  const Json& dtype = json["dtype"];
  const std::optional<DType> known =
      dtype.is_string() ? dtype_from_safetensors(dtype.get<std::string>()) : std::nullopt;
  if (!known) {
    wrong(fmt::format("has the dtype {}, which cannot be read",
                      shown(dtype.dump(-1, ' ', true, Json::error_handler_t::replace))));
  }

  const Json& shape = json["shape"];
  if (!shape.is_array() || shape.size() > kMaxRank) {
    wrong(fmt::format("has a shape that is not a list of at most {} extents", kMaxRank));
  }
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = dtype_size(*known);
  bool empty = false;
  for (const Json& extent : shape) {
    const std::optional<std::uint64_t> value = unsigned_of(extent);
    if (!value || *value > std::numeric_limits<std::int32_t>::max() * std::uint64_t{1 << 16}) {
      wrong("has an extent that is not a size");
    }
    dims.push_back(static_cast<std::int64_t>(*value));
    empty = empty || *value == 0;
    if (!empty && bytes > std::numeric_limits<std::int64_t>::max() / *value) {
      wrong("has more elements than can be");
    }
    if (!empty) bytes *= *value;
  }
  if (empty) bytes = 0;
  entry.type = {*known, Shape(std::span<const std::int64_t>(dims))};

  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) wrong("needs two data_offsets");
  const std::optional<std::uint64_t> begin = unsigned_of(offsets[0]);
  const std::optional<std::uint64_t> end = unsigned_of(offsets[1]);
  if (!begin || !end || *begin > *end) wrong("has data_offsets that are not valid");
  if (*end - *begin != bytes) {
    wrong(fmt::format("is {} and needs {} bytes, but its data_offsets span {}",
                      entry.type.to_string(), bytes, *end - *begin));
  }
  entry.begin = *begin;
  entry.end = *end;
  return entry;
}

std::map<std::string, std::string> parse_metadata(const Json& json, std::string_view file) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) refuse(file, "__metadata__ is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) refuse(file, fmt::format("__metadata__.{} is not text", shown(key)));
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

/// What else weights come in, by how such files begin; null for none of these.
const char* other_format(std::span<const std::uint8_t> bytes) {
  // A header's length may have the same bytes; what follows it tells them apart.
  if (bytes.size() > 8 && bytes[8] == '{') return nullptr;
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), 4);
  if (begin == std::string_view("PK\3\4", 4)) return "torch.save or Keras (a zip archive)";
  if (begin.starts_with("\x80\x02")) return "pickle, as old versions of torch.save write";
  if (begin == "\x89HDF") return "HDF5";
  return nullptr;
}

}  // namespace

const SafetensorsHeader::Entry* SafetensorsHeader::find(std::string_view name) const {
  const auto it = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

SafetensorsHeader parse_safetensors(std::span<const std::uint8_t> bytes, std::uint64_t file_size,
                                    std::string_view file) {
  if (bytes.size() < 8) {
    refuse(file, fmt::format("has {} bytes, fewer than the 8 that any such file has", file_size));
  }
  if (const char* const other = other_format(bytes)) {
    refuse(file, fmt::format("this is a file of {}; write the weights as safetensors, with "
                             "safetensors.torch.save_file or safetensors.numpy.save_file",
                             other));
  }
  const std::uint64_t length = little_endian(bytes);
  if (length > kSafetensorsHeaderLimit) {
    refuse(file, fmt::format("the header would have {} bytes; more than {} is refused", length,
                             kSafetensorsHeaderLimit));
  }
  if (length > bytes.size() - 8 || length > file_size - 8) {
    refuse(file, fmt::format("the header would have {} bytes, but the file ends before", length));
  }
  const std::span<const std::uint8_t> text = bytes.subspan(8, static_cast<std::size_t>(length));
  if (text.empty() || text[0] != '{') refuse(file, "the header does not begin with '{'");

  SafetensorsHeader header;
  header.data_offset = 8 + length;
  const Json json = parse_json(text, file);
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      header.metadata = parse_metadata(value, file);
    } else {
      header.entries.push_back(parse_entry(name, value, file));
    }
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const SafetensorsHeader::Entry& entry : header.entries) {
    if (entry.begin != at) {
      refuse(file, fmt::format("tensor '{}' begins at byte {} of the data, not at {}: a gap or an "
                               "overlap",
                               shown(entry.name), entry.begin, at));
    }
    at = entry.end;
  }
  if (at != file_size - header.data_offset) {
    refuse(file, fmt::format("the tensors have {} bytes, the file {}; it was cut or is damaged", at,
                             file_size - header.data_offset));
  }
  return header;
}

}  // namespace plimsoll::train
