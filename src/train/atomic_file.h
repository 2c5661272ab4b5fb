#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll::train {

/// A file that is there as a whole or not at all: written beside `path` under another name, which
/// commit() flushes to the disk and renames. Without commit() it leaves nothing. Throws DataError
/// naming `path`.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, Bytes bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  int file_ = -1;
};

}  // namespace plimsoll::train
