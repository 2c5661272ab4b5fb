#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll::data {

/// A file without a name for what does not fit in memory: it goes with the object, or with the
/// process however that ends. Made when something is first written. One thread at a time.
class SpillFile {
 public:
  /// `folder` empty: the system's for temporary files. At most `limit` bytes of file.
  SpillFile(std::string folder, Bytes limit) : folder_(std::move(folder)), limit_(limit) {}
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  /// Throws InvalidArgument where no file could be made.
  static void check_folder(const std::string& folder);

  /// A place for `bytes` (> 0); the lowest that fits. Throws BudgetTooSmall naming the limit and
  /// what would be needed.
  std::uint64_t take(Bytes bytes);
  /// The place is free again.
  void give(std::uint64_t offset, Bytes bytes);
  /// All places are; the file is empty.
  void clear();

  /// Throws BudgetTooSmall where the disk is full, naming what was to be written and what the disk
  /// has; Error where it fails otherwise.
  void write(std::uint64_t offset, const void* from, Bytes bytes);
  void read(std::uint64_t offset, void* to, Bytes bytes) const;

  Bytes limit() const { return limit_; }
  /// Bytes in use.
  Bytes used() const { return used_; }

 private:
  void open();
  std::string folder() const;

  const std::string folder_;
  const Bytes limit_;
  int file_ = -1;
  std::uint64_t end_ = 0;
  Bytes used_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< offset -> bytes, none next to another
};

}  // namespace plimsoll::data
