#pragma once

#include <string>

#include <plimsoll/data/map_function.h>
#include <plimsoll/memory/arena.h>

namespace plimsoll::data {

/// The contents of a file in a block of `arena`, read with pread. DataError naming the file if it
/// cannot be read; OutOfMemory.
FileBytes read_file(const std::string& path, Arena& arena, const Account& account);

/// A file open for reading. DataError naming it.
class InputFile {
 public:
  explicit InputFile(std::string path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  Bytes size() const;
  /// Bytes read at `offset`: `bytes`, or less at the end.
  Bytes read(void* to, Bytes bytes, Bytes offset) const;

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace plimsoll::data
