#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::train {

// The file format of Hugging Face's safetensors: the length of a JSON header in 8 bytes, the
// header ({"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [0, 24]}, ...}), then the data
// without gaps.

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Writes all of it or nothing: into a temporary file beside `path`, flushed to the disk, which
/// then takes the place of `path`. A crash at any moment leaves the old file or the new one.
/// Tensors may lie on any device and have any strides; no second copy of them is made but for a
/// chunk at a time. Throws InvalidArgument for a name that is used twice or is "__metadata__" and
/// for DType::bytes, DataError naming the file if it cannot be written.
void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// The largest header that is read or written, in bytes: the format's own limit.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

/// A header that was read and checked.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    TensorType type;
    std::uint64_t begin = 0;  ///< in bytes from the start of the data
    std::uint64_t end = 0;
  };
  std::vector<Entry> entries;  ///< as they lie in the file
  std::map<std::string, std::string> metadata;
  std::uint64_t data_offset = 0;  ///< where the data starts in the file

  /// Null if there is none.
  const Entry* find(std::string_view name) const;
};

/// Reads a header from the first bytes of a file of `file_size` bytes: at least the 8 bytes of the
/// length and the header itself. Whatever the bytes are, it gives a header that keeps these
/// promises, or throws DataError naming `file` and, where there is one, the tensor: sizes fit
/// shapes and dtypes, tensors cover the data without gaps or overlaps, names are used once.
SafetensorsHeader parse_safetensors(std::span<const std::uint8_t> bytes, std::uint64_t file_size,
                                    std::string_view file);

/// An open file. Reading is thread-safe.
class SafetensorsFile {
 public:
  /// Reads the header. DataError as parse_safetensors, or if the file cannot be read.
  explicit SafetensorsFile(const std::string& path);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;
  ~SafetensorsFile();

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  /// DataError naming file and tensor if there is none.
  const SafetensorsHeader::Entry& entry(std::string_view name) const;

  /// A new tensor with the data. Throws OutOfMemory, DataError.
  Tensor read(std::string_view name, const Device& device, const TensorOptions& options = {}) const;
  /// Into one that is there, contiguous and of the same type; else DataError.
  void read_into(std::string_view name, Tensor& tensor) const;

 private:
  std::string path_;
  int file_ = -1;
  SafetensorsHeader header_;
};

}  // namespace plimsoll::train
