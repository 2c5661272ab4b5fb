#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::data {

/// Files that a source reads or names, by index: what their headers and dates say can be asked
/// without running a pipeline. Immutable.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual std::int64_t file_count() const = 0;
  virtual std::string file_path(std::int64_t index) const = 0;
};

}  // namespace plimsoll::data
