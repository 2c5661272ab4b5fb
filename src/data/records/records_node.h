#pragma once

#include <memory>

#include <plimsoll/data/dataset.h>

#include "data/records/record_format.h"

namespace plimsoll::data {

/// A file of records.
struct RecordFile {
  std::string name;
  Compression compression = Compression::none;
  std::shared_ptr<const ByteSource> open = nullptr;  ///< null: opened when it is read
  RecordIndex index = {};
  std::int64_t first = 0;  ///< number of its first record
};

/// How a file of records may be compressed; none where the format does not say.
using FindCompression = Compression (*)(const ByteSource& source);

/// The records of the files, one file after the other, in a format: reads or builds their indexes
/// now, several at a time. Throws DataError naming a file that cannot be read.
Dataset records(const std::vector<std::string>& files, std::shared_ptr<const RecordFormat> format,
                const RecordOptions& options, FindCompression compression = nullptr);

/// The first `most` records of the files, handed to `look` with the number of their file; for
/// finding out what they are. Stops where `look` returns false. Its DataErrors are given the file
/// and the offset.
void look_at_records(const std::vector<std::string>& files, const RecordFormat& format,
                     const RecordOptions& options, std::int64_t most,
                     const std::function<bool(std::span<const std::byte>, std::size_t file)>& look,
                     FindCompression compression = nullptr);

}  // namespace plimsoll::data
