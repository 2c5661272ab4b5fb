#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/device/device.h>

namespace plimsoll::data {

enum class RecordKind : std::uint8_t { tfrecord, webdataset, mds };

struct WriteOptions {
  RecordKind format = RecordKind::tfrecord;
  /// How many files; the elements are divided among them in order. 0: by `shard_bytes`. Needs a
  /// dataset that knows its cardinality.
  std::int64_t shards = 0;
  /// A file is closed when its contents reach this.
  Bytes shard_bytes = MiB(256);
  /// Of TFRecord files; the others are not compressed.
  Compression compression = Compression::none;
};

struct WrittenRecords {
  std::int64_t records = 0;
  Bytes bytes = 0;
  std::vector<std::string> files;
};

/// Runs one epoch of `dataset` and writes its elements to files in `folder`, which is made where
/// there is none: shard-00000.tfrecord, shard-00000.tar, or shard.00000.mds with an index.json.
/// Each file is renamed into place when it is whole, the index.json last.
///
/// The names of the spec's components become features (TFRecord), columns (MDS) or suffixes
/// (WebDataset: byte strings as they are, scalars as text, arrays as "name.npy"; a component
/// "__key__" names the samples, else their number does). Throws InvalidArgument for elements the
/// format cannot hold, StorageError for a full disk, and what Pipeline::next() does.
WrittenRecords write_records(const Dataset& dataset, const std::string& folder,
                             const Device& device, const WriteOptions& options);

}  // namespace plimsoll::data
