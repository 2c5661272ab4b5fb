#pragma once

#include <memory>

#include <plimsoll/data/byte_source.h>
#include <plimsoll/data/records.h>

namespace plimsoll::data {

/// What the first bytes of a file say. A TFRecord file cannot begin like either by accident: its
/// length would not match its checksum.
Compression compression_of(const ByteSource& source);

/// The contents of a compressed file as a source that is read in order: going back begins again at
/// its start. Its size is not known: stamp() says kUnlimited. One thread at a time. Takes
/// kInflateBytes of memory that the caller accounts for. Throws DataError naming file and offset.
std::shared_ptr<const ByteSource> inflated(std::shared_ptr<const ByteSource> source);

inline constexpr Bytes kInflateBytes = KiB(128);

}  // namespace plimsoll::data
