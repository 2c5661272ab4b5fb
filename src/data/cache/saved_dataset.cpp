#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/pipeline.h>

#include "data/cache/element_codec.h"
#include "data/records/records_node.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kDescription = "dataset.json";
constexpr Bytes kFile = MiB(256);

Json json_of(const ElementSpec& spec) {
  if (!spec.known) return nullptr;
  Json components = Json::array();
  for (std::size_t i = 0; i < spec.components.size(); ++i) {
    const TensorSpec& each = spec.components[i];
    Json one = {{"dtype", std::string(dtype_name(each.dtype))}};
    one["shape"] = each.dims ? Json(*each.dims) : Json();
    if (!spec.names.empty()) one["name"] = spec.names[i];
    components.push_back(one);
  }
  return components;
}

ElementSpec spec_of(const Json& json) {
  if (json.is_null()) return ElementSpec::unknown();
  ElementSpec spec;
  for (const Json& each : json) {
    TensorSpec one;
    one.dtype = parse_dtype(each.at("dtype").get<std::string>());
    one.dims.reset();
    if (!each.at("shape").is_null()) one.dims = each["shape"].get<std::vector<std::int64_t>>();
    spec.components.push_back(one);
    if (each.contains("name")) spec.names.push_back(each["name"].get<std::string>());
  }
  if (!spec.names.empty() && spec.names.size() != spec.components.size()) {
    throw DataError("some of its components have names");
  }
  return spec;
}

class SavedFormat final : public RecordFormat {
 public:
  explicit SavedFormat(ElementSpec spec) : spec_(std::move(spec)) {}
  const char* kind() const override { return "load"; }
  ElementSpec spec() const override { return spec_; }
  std::string parameters() const override { return {}; }
  RecordIndex index(ByteWindow& window, std::size_t /*file*/) const override {
    RecordIndex index;
    for (std::uint64_t at = 0; at < window.size();) {
      try {
        const auto head = window.at(at, kElementHead);
        if (head.size() < kElementHead) throw DataError("an element is cut off");
        at += element_bytes(head.first<kElementHead>(), window.size() - at);
        index.bounds.push_back(at);
      } catch (const DataError& error) {
        index.end_broken(window.size(), error.what());
        break;
      }
    }
    return index;
  }
  Element parse(std::span<const std::byte> bytes, std::size_t /*file*/, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    Element element = decode_element(bytes, memory.device, memory.options);
    bool fits = !spec_.known || element.size() == spec_.components.size();
    for (std::size_t i = 0; fits && spec_.known && i < element.size(); ++i) {
      fits = spec_.components[i].admits(TensorSpec::of(element[i]));
    }
    if (!fits) {
      throw DataError(fmt::format("it is {}, not {}", element.to_string(), spec_.to_string()));
    }
    return element;
  }

 private:
  ElementSpec spec_;
};

std::string file_name(std::size_t number) { return fmt::format("elements-{:05}", number); }

}  // namespace

std::int64_t save(const Dataset& dataset, const std::string& folder, const Device& device) {
  if (dataset.cardinality() == kInfinite) {
    throw InvalidArgument("[save] the dataset never ends; save before repeat");
  }
  const std::string inside = folder + (folder.ends_with('/') ? "" : "/");
  const fs::path made = inside.substr(0, inside.size() - 1) + ".tmp";
  std::error_code error;
  fs::remove_all(made, error);
  fs::create_directories(made, error);
  if (error) throw DataError(fmt::format("{}: {}", printable(made.string()), error.message()));
  std::int64_t count = 0;
  std::size_t files = 0;
  std::unique_ptr<OutputFile> file;
  Pipeline pipeline(dataset, device, {.name = "save"});
  while (const auto element = pipeline.next()) {
    if (!file) file = std::make_unique<OutputFile>((made / file_name(files++)).string());
    write_element(*file, *element);
    ++count;
    if (file->written() < kFile) continue;
    file->commit();
    file = nullptr;
  }
  if (!file && files == 0)
    file = std::make_unique<OutputFile>((made / file_name(files++)).string());
  if (file) file->commit();
  OutputFile description((made / kDescription).string());
  description.write(Json{{"format", "plimsoll elements"},
                         {"version", 1},
                         {"elements", count},
                         {"files", files},
                         {"spec", json_of(dataset.element_spec())}}
                        .dump(1));
  description.commit();
  fs::remove_all(folder, error);
  fs::rename(made, inside.substr(0, inside.size() - 1), error);
  if (error) throw DataError(fmt::format("{}: {}", printable(folder), error.message()));
  return count;
}

Dataset Dataset::load(const std::string& folder) {
  const fs::path path = fs::path(folder) / kDescription;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw DataError(
        fmt::format("[load] {}: cannot be opened; save() writes it", printable(path.string())));
  }
  try {
    const Json json = Json::parse(in);
    if (json.at("format").get<std::string>() != "plimsoll elements" ||
        json.at("version").get<int>() != 1) {
      throw DataError("of another format or version");
    }
    std::vector<std::string> files;
    const auto number = json.at("files").get<std::size_t>();
    for (std::size_t i = 0; i < number; ++i) {
      files.push_back((fs::path(folder) / file_name(i)).string());
      if (!fs::exists(files.back())) throw DataError(files.back() + " is missing");
    }
    if (files.empty()) throw DataError("it has no files");
    Dataset result = records(files, std::make_shared<SavedFormat>(spec_of(json.at("spec"))), {});
    if (result.cardinality() != json.at("elements").get<std::int64_t>()) {
      throw DataError(fmt::format("it says {} elements, and its files have {}",
                                  json["elements"].get<std::int64_t>(), result.cardinality()));
    }
    return result;
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("[load] {}: {}", printable(path.string()), error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("[load] {}: {}", printable(path.string()), error.what()));
  }
}

}  // namespace plimsoll::data
