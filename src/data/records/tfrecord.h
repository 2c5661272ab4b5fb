#pragma once

#include <memory>

#include "data/records/example.h"
#include "data/records/record_format.h"

namespace plimsoll::data {

/// Bytes around a record: its length and the length's checksum before it, its own after it.
inline constexpr Bytes kTfRecordHead = 12;
inline constexpr Bytes kTfRecordTail = 4;

/// TFRecord files; `parser` null: records as they are.
std::unique_ptr<RecordFormat> tfrecord_format(std::unique_ptr<ExampleParser> parser, bool verify);

/// Compressed unless it begins with a record's head.
Compression tfrecord_compression(const ByteSource& source);

/// A record's head and tail.
std::string tfrecord_head(std::uint64_t length);
std::string tfrecord_tail(const void* data, Bytes bytes);

}  // namespace plimsoll::data
