#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/record_writer.h>

namespace plimsoll::data {

/// A file of records that is being written. Throws as OutputFile, and InvalidArgument for an
/// element that the format cannot hold.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  /// The next record; `number` counts over all files.
  virtual void add(const Element& element, std::int64_t number) = 0;
  /// Bytes of contents so far.
  virtual Bytes bytes() const = 0;
  /// Completes the file and puts it in place. What is not closed leaves nothing.
  virtual void close() = 0;
};

/// What a format needs to write shard after shard of elements of one kind.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;
  /// "shard-00007.tar"
  virtual std::string file_name(std::int64_t shard) const = 0;
  virtual std::unique_ptr<ShardWriter> open(const std::string& path) = 0;
  /// After the last file: what belongs to all of them, in `folder`.
  virtual void finish(const std::string& /*folder*/) {}
};

std::unique_ptr<ShardFormat> tfrecord_shards(const ElementSpec& spec, Compression compression);
std::unique_ptr<ShardFormat> webdataset_shards(const ElementSpec& spec);
std::unique_ptr<ShardFormat> mds_shards(const ElementSpec& spec);

/// A number of any dtype as i64 or as double. InvalidArgument for byte strings.
std::int64_t as_integer(const Value& scalar);
double as_real(const Value& scalar);

}  // namespace plimsoll::data
