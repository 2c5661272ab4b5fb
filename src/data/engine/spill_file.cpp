#include "data/engine/spill_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

/// Places are multiples of this, so that odd sizes do not cut the file up.
constexpr Bytes kGrain = 512;

Bytes rounded(Bytes bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

std::string folder_or_default(const std::string& folder) {
  if (!folder.empty()) return folder;
  std::error_code error;
  const std::filesystem::path found = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : found.string();
}

Bytes free_on_disk(const std::string& folder) {
  struct statvfs stats {};
  if (::statvfs(folder.c_str(), &stats) != 0) return 0;
  return static_cast<Bytes>(stats.f_bavail) * stats.f_frsize;
}

}  // namespace

SpillFile::~SpillFile() {
  if (file_ >= 0) ::close(file_);
}

std::string SpillFile::folder() const { return folder_or_default(folder_); }

void SpillFile::check_folder(const std::string& folder) {
  const std::string path = folder_or_default(folder);
  if (!std::filesystem::is_directory(path) || ::access(path.c_str(), W_OK | X_OK) != 0) {
    throw InvalidArgument(fmt::format(
        "[shuffle] no file can be made in the spill folder {}; give another spill_folder, or a "
        "spill_limit of 0",
        path));
  }
}

void SpillFile::open() {
  const std::string path = folder();
  file_ = ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) {
    std::string name = path + "/plimsoll_spill_XXXXXX";
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) ::unlink(name.c_str());
  }
  if (file_ < 0) {
    throw Error(fmt::format("[shuffle] cannot make a file in {}: {}", path, std::strerror(errno)));
  }
}

std::uint64_t SpillFile::take(Bytes bytes) {
  const Bytes wanted = rounded(bytes);
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    if (place->second < wanted) continue;
    const auto [offset, there] = *place;
    free_.erase(place);
    if (there > wanted) free_.emplace(offset + wanted, there - wanted);
    used_ += wanted;
    return offset;
  }
  if (wanted > limit_ || end_ > limit_ - wanted) {
    throw BudgetTooSmall(fmt::format(
        "[shuffle] the window needs {} ({} bytes) of file, and spill_limit is {} ({} bytes); raise "
        "it or the budget, or use a smaller window",
        format_bytes(end_ + wanted), end_ + wanted, format_bytes(limit_), limit_));
  }
  const std::uint64_t offset = end_;
  end_ += wanted;
  used_ += wanted;
  return offset;
}

void SpillFile::give(std::uint64_t offset, Bytes bytes) {
  std::uint64_t length = rounded(bytes);
  used_ -= length;
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + length) {
    length += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      length += before->second;
      free_.erase(before);
    }
  }
  if (offset + length == end_) {
    end_ = offset;
  } else {
    free_.emplace(offset, length);
  }
}

void SpillFile::clear() {
  free_.clear();
  end_ = 0;
  used_ = 0;
  // The disk's space comes back at once; if that fails, the file is written over.
  if (file_ >= 0 && ::ftruncate(file_, 0) != 0) return;
}

void SpillFile::write(std::uint64_t offset, const void* from, Bytes bytes) {
  if (file_ < 0) open();
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(file_, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const int why = done < 0 ? errno : ENOSPC;
      if (why != ENOSPC && why != EDQUOT && why != EFBIG) {
        throw Error(fmt::format("[shuffle] cannot write to {}: {}", folder(), std::strerror(why)));
      }
      const Bytes there = free_on_disk(folder());
      throw BudgetTooSmall(fmt::format(
          "[shuffle] the disk is full: {} ({} bytes) of the window are to go to {}, which has {} "
          "({} bytes); make room, give another spill_folder, or raise the budget",
          format_bytes(bytes), bytes, folder(), format_bytes(there), there));
    }
    at += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<Bytes>(done);
  }
}

void SpillFile::read(std::uint64_t offset, void* to, Bytes bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t done = ::pread(file_, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      throw Error(fmt::format("[shuffle] cannot read what was written to {}: {}", folder(),
                              done < 0 ? std::strerror(errno) : "the file is shorter"));
    }
    at += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<Bytes>(done);
  }
}

}  // namespace plimsoll::data
