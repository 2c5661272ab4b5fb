#include "train/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {

void AtomicFile::fail(const char* what) const {
  throw DataError(fmt::format("[save] {}: cannot {}: {}", path_, what, std::strerror(errno)));
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  // A process that was killed may have left one of the same number.
  for (int attempt = 0; file_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path, ::getpid(), attempt);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail("create a file beside it");
  }
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) {
    ::close(file_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(const void* data, Bytes bytes) {
  const auto* at = static_cast<const std::uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(file_, at, std::min<Bytes>(bytes, Bytes{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    at += done;
    bytes -= static_cast<Bytes>(done);
  }
}

void AtomicFile::commit() {
  if (::fsync(file_) != 0) fail("flush");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename the new file");
  ::close(std::exchange(file_, -1));
  // The name is on the disk only once its folder is.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const int handle =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) fail("open its folder");
  const int flushed = ::fsync(handle);
  ::close(handle);
  if (flushed != 0) fail("flush its folder");
}

}  // namespace plimsoll::train
