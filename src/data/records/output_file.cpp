#include "data/records/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/storage_error.h>

namespace plimsoll::data {
namespace {

constexpr std::size_t kOutputBuffer = 64 * 1024;

std::string beside(const std::string& path) {
  static std::atomic<unsigned> number = 0;
  const auto slash = path.rfind('/') + 1;  // 0 if there is none
  return fmt::format("{}.{}.tmp-{}-{}", path.substr(0, slash), path.substr(slash), ::getpid(),
                     number++);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), temporary_(beside(path_)) {
  std::error_code error;
  if (std::filesystem::exists(path_, error) && !std::filesystem::is_regular_file(path_, error)) {
    throw DataError(fmt::format("{}: is a folder, a device or a pipe, which would be replaced",
                                printable(path_)));
  }
  file_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be created");
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(file_);
}

void OutputFile::fail(const char* what) const {
  const int code = errno;
  const std::string text = fmt::format("{}: {}: {}", printable(path_), what, std::strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO) {
    throw StorageError(text + "; free some space or write to another disk");
  }
  throw DataError(text);
}

void OutputFile::write(const void* data, Bytes bytes) {
  if (buffer_.size() + bytes > kOutputBuffer) flush();
  written_ += bytes;
  if (bytes < kOutputBuffer) {
    buffer_.append(static_cast<const char*>(data), bytes);
    return;
  }
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ::ssize_t done = ::write(file_, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written");
    at += done;
    bytes -= static_cast<Bytes>(done);
  }
}

void OutputFile::flush() {
  const std::string pending = std::exchange(buffer_, {});
  std::size_t at = 0;
  while (at < pending.size()) {
    const ::ssize_t done = ::write(file_, pending.data() + at, pending.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written");
    at += static_cast<std::size_t>(done);
  }
}

void OutputFile::copy_to(OutputFile& other) {
  flush();
  std::string bytes(kOutputBuffer, '\0');
  for (Bytes at = 0; at < written_;) {
    const ::ssize_t got = ::pread(file_, bytes.data(), bytes.size(), static_cast<::off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot be read again");
    other.write(bytes.data(), static_cast<Bytes>(got));
    at += static_cast<Bytes>(got);
  }
}

void OutputFile::commit(bool durable) {
  flush();
  if (durable && ::fdatasync(file_) != 0) fail("cannot be flushed to the disk");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be renamed into place");
  ::close(std::exchange(file_, -1));
}

}  // namespace plimsoll::data
