#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll::data {

/// What tells two versions of a file apart without reading it.
struct ByteStamp {
  Bytes size = 0;
  std::int64_t time = 0;  ///< of the last change, in nanoseconds since 1970
  friend bool operator==(const ByteStamp&, const ByteStamp&) = default;
};

/// Bytes that can be read at any offset: a file now, an object in a store later. All methods are
/// thread-safe and throw DataError, beginning with the name, where the bytes cannot be had.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// For messages: a path, an address.
  virtual const std::string& name() const = 0;
  virtual ByteStamp stamp() const = 0;
  /// Bytes read at `offset` into `to`: `bytes`, or less at the end. Takes no memory of its own.
  virtual Bytes read(void* to, Bytes bytes, Bytes offset) const = 0;
};

/// Opens what has a name. The default is local files; whoever has another store gives one in
/// RecordOptions.
class ByteStore {
 public:
  virtual ~ByteStore() = default;
  virtual std::shared_ptr<const ByteSource> open(const std::string& name) const = 0;
};

/// Files of this machine, read with pread and never mapped.
std::shared_ptr<const ByteStore> local_files();

}  // namespace plimsoll::data
