#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::data {

/// Files that a source names or reads, by index: what their headers and dates say can be asked
/// without running a pipeline. Immutable.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual std::int64_t file_count() const = 0;
  virtual std::string file_path(std::int64_t index) const = 0;
  /// Its name within the data: the same where the data has been moved as a whole.
  virtual std::string file_name(std::int64_t index) const {
    const std::string path = file_path(index);
    return path.substr(path.rfind('/') + 1);
  }
  /// The class of a file as a position in class_names(); -1 where there are no classes.
  virtual std::int64_t file_class(std::int64_t /*index*/) const { return -1; }
  virtual std::vector<std::string> class_names() const { return {}; }
};

}  // namespace plimsoll::data
