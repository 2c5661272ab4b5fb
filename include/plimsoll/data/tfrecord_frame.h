#pragma once

#include <string>
#include <string_view>

namespace plimsoll::data {

/// What stands around a record in a TFRecord file: its length and that one's checksum before it,
/// its own checksum after it.
struct TFRecordFrame {
  std::string before;  ///< 12 bytes
  std::string after;   ///< 4 bytes
};
TFRecordFrame tfrecord_frame(std::string_view record);

}  // namespace plimsoll::data
