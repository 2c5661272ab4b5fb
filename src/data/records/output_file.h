#pragma once

#include <string>
#include <string_view>

#include <plimsoll/base/bytes.h>

namespace plimsoll::data {

/// A new file that is there as a whole or not at all: written beside `path` under a hidden name
/// that no other process uses, which commit() renames. Without commit() nothing is left. Buffered.
/// Throws StorageError where the disk or a quota is full, DataError otherwise, both naming the
/// file.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* data, Bytes bytes);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Appends what was written here so far to `other`.
  void copy_to(OutputFile& other);
  /// Bytes written so far.
  Bytes written() const { return written_; }
  /// Flushes and renames. `durable`: waits for the disk, so that a power cut cannot empty it.
  void commit(bool durable = false);

 private:
  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  int file_ = -1;
  Bytes written_ = 0;
  std::string buffer_;
};

}  // namespace plimsoll::data
