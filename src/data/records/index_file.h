#pragma once

#include <string>

#include "data/records/record_format.h"

namespace plimsoll::data {

/// The index of file number `file` of a format: the one that was kept for a file with this stamp
/// (that of the compressed file, where `source` is what it contains), else built now and, for large
/// files, kept (RecordOptions). Throws what RecordFormat::index() does.
RecordIndex read_or_build_index(const RecordFormat& format, const ByteSource& source,
                                std::size_t file, const ByteStamp& stamp,
                                const RecordOptions& options);

/// Where the index of a file would be kept.
std::string index_path(const std::string& name, const std::string& key,
                       const RecordOptions& options);

}  // namespace plimsoll::data
