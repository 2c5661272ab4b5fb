#include "train/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/storage_error.h>

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = ".tmp-";

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Where the file system that has `folder` is mounted: the last folder upwards on the same device.
fs::path mount_point(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder, error);
  struct stat here = {};
  if (error || ::stat(at.c_str(), &here) != 0) return folder;
  while (at.has_parent_path() && at.parent_path() != at) {
    struct stat above = {};
    if (::stat(at.parent_path().c_str(), &above) != 0 || above.st_dev != here.st_dev) break;
    at = at.parent_path();
  }
  return at;
}

/// Files that writers left which are gone: one that is at work holds a lock on its own.
void remove_leftovers(const std::string& path) {
  const std::string prefix = fs::path(path).filename().string() + kTemporary;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(path), error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(file);
  }
}

}  // namespace

void throw_write_error(const std::string& path, const char* what, int code, Bytes bytes) {
  const std::string text = fmt::format("[save] {}: cannot {}: {}", path, what, std::strerror(code));
  if (code != ENOSPC && code != EDQUOT && code != EFBIG && code != EIO) throw DataError(text);
  if (code == EFBIG) {
    throw StorageError(text + "; files may not be that large here: raise `ulimit -f`");
  }
  if (code == EDQUOT) throw StorageError(text + "; free some of your quota, or write elsewhere");
  const fs::path folder = folder_of(path);
  std::string room;
  struct statvfs system = {};
  if (::statvfs(folder.c_str(), &system) == 0) {
    room = fmt::format("; the file system at {} has {} free", mount_point(folder).string(),
                       format_bytes(Bytes{system.f_bavail} * system.f_frsize));
  }
  const std::string needed =
      bytes == 0 ? ""
                 : fmt::format("{} {} is needed", room.empty() ? ";" : ",", format_bytes(bytes));
  throw StorageError(
      fmt::format("{}{}{}; free some space or write to another disk", text, room, needed));
}

void AtomicFile::fail(const char* what) const { throw_write_error(path_, what, errno, bytes_); }

AtomicFile::AtomicFile(const std::string& path, Bytes bytes) : path_(path), bytes_(bytes) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw DataError(fmt::format(
        "[save] {}: is a folder, a device or a pipe, which would be replaced; name a file", path));
  }
  remove_leftovers(path);
  // One of the same name may be that of another machine's process of this number.
  for (int attempt = 0; file_ < 0; ++attempt) {
    temporary_ = fmt::format("{}{}{}-{}", path, kTemporary, ::getpid(), attempt);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail("create a file beside it");
  }
  ::flock(file_, LOCK_EX | LOCK_NB);  // where locks are not to be had, nothing is tidied up either
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) {
    ::unlink(temporary_.c_str());
    ::close(file_);
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
  const int handle = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) fail("open its folder");
  const int flushed = ::fsync(handle);
  ::close(handle);
  if (flushed != 0) fail("flush its folder");
}

}  // namespace plimsoll::train
