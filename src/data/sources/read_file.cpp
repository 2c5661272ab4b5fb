#include "data/sources/read_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

[[noreturn]] void failed(const std::string& path, const char* what) {
  const char* const why = std::strerror(errno);
  throw DataError(fmt::format("{}: {}: {}", printable(path), what, why));
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  constexpr std::size_t kMost = 4096;  // of a path
  if (path_.size() > kMost || path_.find('\0') != std::string::npos) {
    throw DataError(fmt::format(
        "{}...: {} bytes are not the path of a file; contents of an image are decoded as they are, "
        "without read_file, in Python with pm.image.decode(x, contents=True)",
        printable(path_.substr(0, 16)), path_.size()));
  }
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) failed(path_, "cannot be opened");
}

InputFile::~InputFile() { ::close(descriptor_); }

Bytes InputFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) failed(path_, "cannot be examined");
  if (!S_ISREG(status.st_mode)) {
    throw DataError(fmt::format("{}: not a regular file", printable(path_)));
  }
  return static_cast<Bytes>(status.st_size);
}

Bytes InputFile::read(void* to, Bytes bytes, Bytes offset) const {
  auto* const target = static_cast<char*>(to);
  Bytes done = 0;
  while (done < bytes) {
    const ::ssize_t got =
        ::pread(descriptor_, target + done, bytes - done, static_cast<::off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failed(path_, "cannot be read");
    if (got == 0) break;
    done += static_cast<Bytes>(got);
  }
  return done;
}

FileBytes read_file(const std::string& path, Arena& arena, const Account& account) {
  const InputFile file(path);
  const Bytes size = file.size();
  Block block = arena.allocate(size, account);
  const Bytes got = size == 0 ? 0 : file.read(block.data(), size, 0);
  return FileBytes(std::move(block), got);
}

}  // namespace plimsoll::data
