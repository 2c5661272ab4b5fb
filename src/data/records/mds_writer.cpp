#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/records/mds_index.h"
#include "data/records/output_file.h"
#include "data/records/shard_writer.h"

namespace plimsoll::data {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A component as a column. Byte strings are "bytes", but for names that say what they are.
MdsColumn column_of(const TensorSpec& spec, const std::string& name) {
  const bool scalar = spec.dims && spec.dims->empty();
  if (!scalar || spec.dtype == DType::bf16 || spec.dtype == DType::boolean) {
    throw InvalidArgument(fmt::format(
        "[write_records] component \"{}\" is {}; MDS columns are numbers and byte strings; "
        "tfrecord and webdataset have arrays",
        printable(name), spec.to_string()));
  }
  constexpr std::array<const char*, kDTypeCount> kEncodings = {
      "float64", "float32", "float16", "",      "int", "int32",
      "int16",   "int8",    "uint16",  "uint8", "",    "bytes"};
  const bool picture = spec.dtype == DType::bytes && (name == "jpeg" || name == "png");
  return mds_column(name, picture ? name : kEncodings[static_cast<std::size_t>(spec.dtype)]);
}

void put_word(std::string& out, std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument("[write_records] an MDS shard has at most 4 GiB; give a smaller size");
  }
  const auto word = static_cast<std::uint32_t>(value);
  out.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

struct MdsSet {
  std::vector<MdsColumn> columns;  ///< sorted by name
  std::vector<std::size_t> from;   ///< the component of each
  OrderedJson shards = OrderedJson::array();
};

/// The table at the front needs the number of samples: the samples are kept in a second file until
/// then.
class MdsWriter final : public ShardWriter {
 public:
  MdsWriter(const std::string& path, MdsSet& set)
      : path_(path), file_(path), samples_(path + ".samples"), set_(set) {}

  void add(const Element& element, std::int64_t /*number*/) override {
    std::string sizes;
    std::string values;
    for (std::size_t i = 0; i < set_.columns.size(); ++i) {
      const Value& value = element.at(set_.from[i]);
      if (value.dtype() != set_.columns[i].dtype) {
        throw InvalidArgument(fmt::format(
            "[write_records] component \"{}\" is {}, not {}", printable(set_.columns[i].name),
            dtype_name(value.dtype()), dtype_name(set_.columns[i].dtype)));
      }
      if (value.dtype() == DType::bytes) {
        put_word(sizes, value.text().size());
        values += value.text();
      } else if (value.is_scalar()) {
        values.append(reinterpret_cast<const char*>(&value.bits()), dtype_size(value.dtype()));
      } else {
        values.append(static_cast<const char*>(value.tensor().raw_data()),
                      dtype_size(value.dtype()));
      }
    }
    ends_.push_back(samples_.written() + sizes.size() + values.size());
    samples_.write(sizes);
    samples_.write(values);
  }
  Bytes bytes() const override { return samples_.written(); }
  void close() override {
    const std::string config = OrderedJson(description(0)).dump();
    const Bytes head = sizeof(std::uint32_t) * (ends_.size() + 2) + config.size();
    std::string table;
    put_word(table, ends_.size());
    put_word(table, head);
    for (const Bytes end : ends_) put_word(table, head + end);
    file_.write(table);
    file_.write(config);
    samples_.copy_to(file_);
    OrderedJson shard = description(file_.written());
    file_.commit();
    set_.shards.push_back(std::move(shard));
  }

 private:
  /// As MosaicML Streaming writes it: with `bytes` the entry of index.json, without it the
  /// configuration that a shard carries.
  OrderedJson description(Bytes bytes) const {
    OrderedJson names = OrderedJson::array();
    OrderedJson encodings = OrderedJson::array();
    OrderedJson sizes = OrderedJson::array();
    for (const MdsColumn& column : set_.columns) {
      names.push_back(column.name);
      encodings.push_back(column.encoding);
      sizes.push_back(column.size == 0 ? OrderedJson() : OrderedJson(column.size));
    }
    OrderedJson json = {
        {"column_encodings", encodings}, {"column_names", names}, {"column_sizes", sizes},
        {"compression", nullptr},        {"format", "mds"},       {"hashes", OrderedJson::array()}};
    if (bytes > 0) {
      json["raw_data"] = {{"basename", std::filesystem::path(path_).filename().string()},
                          {"bytes", bytes},
                          {"hashes", OrderedJson::object()}};
      json["samples"] = ends_.size();
    }
    json["size_limit"] = nullptr;
    json["version"] = 2;
    if (bytes > 0) json["zip_data"] = nullptr;
    return json;
  }

  std::string path_;
  OutputFile file_;
  OutputFile samples_;
  MdsSet& set_;
  std::vector<Bytes> ends_;
};

class MdsShards final : public ShardFormat {
 public:
  explicit MdsShards(MdsSet set) : set_(std::move(set)) {}
  std::string file_name(std::int64_t shard) const override {
    return fmt::format("shard.{:05}.mds", shard);
  }
  std::unique_ptr<ShardWriter> open(const std::string& path) override {
    return std::make_unique<MdsWriter>(path, set_);
  }
  void finish(const std::string& folder) override {
    OutputFile file((std::filesystem::path(folder) / "index.json").string());
    file.write(OrderedJson{{"shards", set_.shards}, {"version", 2}}.dump());
    file.commit();
  }

 private:
  MdsSet set_;
};

}  // namespace

std::unique_ptr<ShardFormat> mds_shards(const ElementSpec& spec) {
  MdsSet set;
  set.from.resize(spec.components.size());
  std::iota(set.from.begin(), set.from.end(), std::size_t{0});
  std::sort(set.from.begin(), set.from.end(),
            [&](std::size_t a, std::size_t b) { return spec.names[a] < spec.names[b]; });
  for (const std::size_t i : set.from) {
    set.columns.push_back(column_of(spec.components[i], spec.names[i]));
  }
  return std::make_unique<MdsShards>(std::move(set));
}

}  // namespace plimsoll::data
