#pragma once

#include <plimsoll/base/error.h>

namespace plimsoll {

/// The system could not store a file: the disk is full, a quota or a limit on the size of files is
/// reached, or the disk failed. The message names the file and the file system. Exit code 1: it is
/// neither the caller's mistake nor broken input.
class StorageError : public Error {
 public:
  using Error::Error;
};

}  // namespace plimsoll
