#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// How much memory the elements of a dataset take while they are read and decoded, as far as the
/// headers of its files say.
struct DecodeNeeds {
  /// The most that reading and decoding one element takes at its peak, besides its result: the
  /// file's contents and the decoder's memory. 0 where no stage can tell.
  Bytes largest = 0;
  /// The file that takes it.
  std::string largest_file;
  std::int64_t looked_at = 0;  ///< files whose headers have been read
  std::int64_t files = 0;      ///< files there are
  /// Files among those looked at whose headers say nothing: they are missing, broken or no
  /// pictures. Reading them will follow the pipeline's error policy.
  std::int64_t unreadable = 0;
  /// All files have been looked at.
  bool complete = true;
};

/// Reads the headers of the files that `dataset` will decode: those of `image_folder`,
/// `image_paths` and `list_files` where they reach a program that reads and decodes them,
/// `load_images`, or another map whose function has `needs`, as they are. Stops after `time` or
/// `max_files` files. What was read is remembered with the description and shared by its copies:
/// the next call goes on from there, and costs nothing once all is known. Takes a few KiB that no
/// budget is charged for. Thread-safe; throws nothing for files that cannot be read.
DecodeNeeds decode_needs(const Dataset& dataset,
                         std::chrono::milliseconds time = std::chrono::seconds(5),
                         std::int64_t max_files = 20'000);

}  // namespace plimsoll::data
