#include "inspect_records.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>

#include "command_line.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Bad ones beyond this are counted and not named.
constexpr std::size_t kMostNamed = 1000;

struct Sizes {
  Bytes least = kUnlimited;
  Bytes most = 0;
};

struct FoundRecords {
  std::int64_t good = 0;
  std::int64_t bad_count = 0;
  std::vector<Sizes> sizes;
  std::vector<std::string> bad;
};

FoundRecords read_all(const data::Dataset& dataset) {
  FoundRecords found;
  found.sizes.resize(dataset.element_spec().components.size());
  const Device device = Device::open("cpu:0");
  data::Pipeline pipeline(dataset, device);
  for (;;) {
    try {
      const auto element = pipeline.next();
      if (!element) return found;
      ++found.good;
      for (std::size_t i = 0; i < element->size(); ++i) {
        const Bytes bytes = element->at(i).nbytes();
        found.sizes[i].least = std::min(found.sizes[i].least, bytes);
        found.sizes[i].most = std::max(found.sizes[i].most, bytes);
      }
    } catch (const DataError& error) {
      ++found.bad_count;
      if (found.bad.size() < kMostNamed) found.bad.emplace_back(error.what());
    }
  }
}

Bytes bytes_of(const std::vector<std::string>& files) {
  Bytes total = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const Bytes size = std::filesystem::file_size(file, error);
    total += error ? 0 : size;
  }
  return total;
}

}  // namespace

void inspect_records(const RecordSource& source, bool quick, bool json) {
  const data::Dataset dataset = all_records(source);
  const FoundRecords found = quick ? FoundRecords{} : read_all(dataset);
  const auto& spec = dataset.element_spec();
  if (json) {
    Json features = Json::array();
    for (std::size_t i = 0; i < spec.components.size(); ++i) {
      Json one = {{"name", spec.names[i]}, {"spec", spec.components[i].to_string()}};
      if (!quick && found.good > 0) one["bytes"] = {found.sizes[i].least, found.sizes[i].most};
      features.push_back(one);
    }
    const Json all = {{"format", source.kind},
                      {"files", source.files.size()},
                      {"bytes", bytes_of(source.files)},
                      {"records", dataset.cardinality()},
                      {"features", features},
                      {"classes", source.classes},
                      {"read", !quick},
                      {"bad_records", found.bad_count},
                      {"bad", found.bad}};
    fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{} in {}, {}\n", counted(dataset.cardinality(), "record"),
               counted(static_cast<std::int64_t>(source.files.size()), source.kind + " file"),
               format_bytes(bytes_of(source.files)));
    for (std::size_t i = 0; i < spec.components.size(); ++i) {
      fmt::print("  {:<20} {:<16}", printable(spec.names[i]), spec.components[i].to_string());
      if (!quick && found.good > 0) {
        fmt::print(" {} to {}", format_bytes(found.sizes[i].least),
                   format_bytes(found.sizes[i].most));
      }
      fmt::print("\n");
    }
    for (const std::string& bad : found.bad) fmt::print("bad: {}\n", bad);
    if (quick) fmt::print("indexes only; without --quick every record is read\n");
  }
  if (found.bad_count == 0) return;
  std::fflush(stdout);
  fmt::print(stderr, "{} of {} records {} bad\n", found.bad_count, dataset.cardinality(),
             found.bad_count == 1 ? "is" : "are");
  throw EndWith{2};
}

}  // namespace plimsoll::tools
