#include "report/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/storage_error.h>

namespace plimsoll::report {

void write_file(const std::string& path, std::string_view contents) {
  namespace fs = std::filesystem;
  const auto fail = [&](int code) {
    const std::string text =
        fmt::format("[report] {} cannot be written: {}", path, std::strerror(code));
    if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO) throw StorageError(text);
    throw DataError(text);
  };
  std::error_code error;
  const bool plain = !fs::exists(path, error) || fs::is_regular_file(path, error);
  // A pipe or a device is written to as it is.
  const std::string temporary = plain ? fmt::format("{}.{}", path, ::getpid()) : path;
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file) {
    const int code = errno == 0 ? EIO : errno;
    if (plain) fs::remove(temporary, error);
    fail(code);
  }
  if (!plain) return;
  fs::rename(temporary, path, error);
  if (!error) return;
  const int code = error.value();
  fs::remove(temporary, error);
  fail(code);
}

}  // namespace plimsoll::report
