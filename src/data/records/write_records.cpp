#include <filesystem>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/record_writer.h>

#include "data/records/shard_writer.h"

namespace plimsoll::data {
namespace {

std::unique_ptr<ShardFormat> format_for(const ElementSpec& spec, const WriteOptions& options) {
  switch (options.format) {
    case RecordKind::tfrecord:
      return tfrecord_shards(spec, options.compression);
    case RecordKind::webdataset:
      return webdataset_shards(spec);
    case RecordKind::mds:
      break;
  }
  return mds_shards(spec);
}

void check(const Dataset& dataset, const WriteOptions& options) {
  if (options.shards < 0 || options.shard_bytes == 0) {
    throw InvalidArgument(
        fmt::format("[write_records] {} shards of {} bytes", options.shards, options.shard_bytes));
  }
  if (options.compression != Compression::none && options.format != RecordKind::tfrecord) {
    throw InvalidArgument("[write_records] only TFRecord files can be compressed");
  }
  if (dataset.cardinality() == kInfinite) {
    throw InvalidArgument("[write_records] the dataset never ends; write before repeat");
  }
  if (options.shards > 0 && dataset.cardinality() == kUnknown) {
    throw InvalidArgument(
        "[write_records] the dataset does not know how many elements it has, so that they cannot "
        "be divided among shards; give their size instead");
  }
  if (dataset.element_spec().names.empty()) {
    throw InvalidArgument(
        "[write_records] the components of the dataset have no names; map to named ones first");
  }
}

}  // namespace

WrittenRecords write_records(const Dataset& dataset, const std::string& folder,
                             const Device& device, const WriteOptions& options) {
  check(dataset, options);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw DataError(fmt::format("[write_records] the folder {} cannot be created: {}",
                                printable(folder), error.message()));
  }
  const auto format = format_for(dataset.element_spec(), options);
  const std::int64_t all = dataset.cardinality();
  // Shard s of n ends before element (s + 1) * all / n, so that sizes differ by one at most.
  const auto end_of = [&](std::int64_t shard) {
    return all / options.shards * (shard + 1) + all % options.shards * (shard + 1) / options.shards;
  };
  WrittenRecords result;
  std::unique_ptr<ShardWriter> writer;
  const auto open = [&] {
    const auto shard = static_cast<std::int64_t>(result.files.size());
    result.files.push_back((std::filesystem::path(folder) / format->file_name(shard)).string());
    writer = format->open(result.files.back());
  };
  const auto close = [&] {
    result.bytes += writer->bytes();
    writer->close();
    writer = nullptr;
  };
  Pipeline pipeline(dataset, device, {.name = "write_records"});
  while (const auto element = pipeline.next()) {
    while (writer && options.shards > 0 &&
           result.records >= end_of(static_cast<std::int64_t>(result.files.size()) - 1)) {
      close();
      open();
    }
    if (!writer) open();
    writer->add(*element, result.records++);
    if (options.shards == 0 && writer->bytes() >= options.shard_bytes) close();
  }
  if (!writer && result.files.empty()) open();
  if (writer) close();
  while (static_cast<std::int64_t>(result.files.size()) < options.shards) {
    open();
    close();
  }
  format->finish(folder);
  return result;
}

}  // namespace plimsoll::data
