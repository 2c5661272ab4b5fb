#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll::train {

/// Throws for a write that failed with the system's error `code`: StorageError if the disk or a
/// quota is full, or the disk failed, with the file system and the `bytes` that are needed in the
/// message; DataError for what the caller can mend, such as a folder that cannot be written.
[[noreturn]] void throw_write_error(const std::string& path, const char* what, int code,
                                    Bytes bytes);

/// A file that is there as a whole or not at all: written beside `path` under another name, which
/// commit() flushes to the disk and renames. Without commit() it leaves nothing; what a process
/// that was killed has left beside `path` is removed. Throws as throw_write_error() does.
class AtomicFile {
 public:
  /// `bytes`: what the file will have, for messages.
  explicit AtomicFile(const std::string& path, Bytes bytes = 0);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, Bytes bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  Bytes bytes_;
  int file_ = -1;
};

}  // namespace plimsoll::train
