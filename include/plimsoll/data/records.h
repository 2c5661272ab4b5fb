#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/byte_source.h>
#include <plimsoll/data/element.h>
#include <plimsoll/data/spec.h>

namespace plimsoll::data {

/// Files of records, by name, glob pattern ("train-*.tar") or brace pattern
/// ("train-{000..063}.tar", "{a,b}.csv"); a name that exists is taken as it is. In the order given,
/// and sorted within a glob pattern.
struct Shards {
  std::vector<std::string> patterns;

  Shards(const char* pattern) : patterns{pattern} {}                    // NOLINT
  Shards(std::string pattern) : patterns{std::move(pattern)} {}         // NOLINT
  Shards(std::vector<std::string> list) : patterns(std::move(list)) {}  // NOLINT
  Shards(std::initializer_list<std::string> list) : patterns(list.begin(), list.end()) {}

  /// The names they stand for. DataError naming a pattern that matches nothing.
  std::vector<std::string> files() const;
};

/// One component of a record: what it is called there and what it becomes.
struct Feature {
  std::string name;
  /// A scalar, a fixed shape, or one whose first extent is kAnyExtent.
  TensorSpec spec;
  /// What a record without it has, a scalar that fills the shape. Without one such a record is an
  /// error, but for a first extent of kAnyExtent, where it has none of them.
  std::optional<Value> missing = std::nullopt;

  Feature(std::string called, DType dtype, std::vector<std::int64_t> dims = {},
          std::optional<Value> otherwise = std::nullopt)
      : name(std::move(called)), spec{dtype, std::move(dims)}, missing(std::move(otherwise)) {}
};
using Features = std::vector<Feature>;

enum class Compression : std::uint8_t { none, gzip, zlib };

struct RecordOptions {
  /// Checks the checksums that the format has.
  bool verify = true;
  /// Where the index of a file is kept, which says where its records lie: built once, published by
  /// rename, and built again when the file's size or time have changed. Empty: beside the file, as
  /// a hidden file. Where it cannot be written it is built again by each process.
  std::string index_folder = {};
  /// Files below this size are read through each time instead; kUnlimited keeps no index.
  Bytes index_from = MiB(1);
  /// nullptr: local files.
  std::shared_ptr<const ByteStore> store = nullptr;
};

struct CsvOptions {
  char delimiter = ',';
  /// The first row of each file has the names of the columns.
  bool header = true;
  RecordOptions records = {};
};

struct FixedRecordOptions {
  Bytes header_bytes = 0;  ///< at the beginning of each file
  Bytes footer_bytes = 0;  ///< at the end of each file
  bool big_endian = false;
  RecordOptions records = {};
};

/// The features that the tf.train.Examples in the first records of the files have, in the order of
/// their names: a scalar where all have one value, a fixed extent where all have as many.
Features tfrecord_features(const Shards& files, const RecordOptions& options = {});
/// The members that the first sample of WebDataset shards has, as suffixes: `cls`, `index` and
/// `id` as i64, `npy` as its header says with a free first extent, all others as byte strings.
Features webdataset_features(const Shards& files, const RecordOptions& options = {});
/// The columns of an MDS folder or index.json.
Features mds_columns(const std::string& folder);
/// The columns of CSV files: i64, else f32, where all of the first 1,000 rows are such numbers,
/// else byte strings. Without a header they are called "0", "1", ...
Features csv_columns(const Shards& files, const CsvOptions& options = {});

}  // namespace plimsoll::data
