#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

namespace plimsoll::train {
namespace {

/// Bytes that pass through the host at a time on their way to another device.
constexpr std::uint64_t kReadChunk = std::uint64_t{1} << 20;

[[noreturn]] void fail_reading(const std::string& path, const std::string& what) {
  throw DataError(fmt::format("[safetensors] {}: {}", path, what));
}

void read_all(int file, const std::string& path, void* to, std::uint64_t bytes,
              std::uint64_t offset) {
  auto* at = static_cast<std::uint8_t*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(file, at, std::min<std::uint64_t>(bytes, std::uint64_t{1} << 30),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_reading(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) fail_reading(path, "became shorter while it was read");
    at += got;
    bytes -= static_cast<std::uint64_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
}

/// Closes the file unless it is kept.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) fail_reading(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  OpenFile file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    fail_reading(path, "is not an ordinary file");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size, 8)));
  read_all(file.get(), path, bytes.data(), bytes.size(), 0);
  if (bytes.size() == 8) {
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | bytes[i];
    length = std::min({length, kSafetensorsHeaderLimit, size - 8});
    bytes.resize(static_cast<std::size_t>(8 + length));
    read_all(file.get(), path, bytes.data() + 8, length, 8);
  }
  header_ = parse_safetensors(bytes, size, path);
  file_ = file.release();
}

SafetensorsFile::~SafetensorsFile() {
  if (file_ >= 0) ::close(file_);
}

const SafetensorsHeader::Entry& SafetensorsFile::entry(std::string_view name) const {
  const SafetensorsHeader::Entry* found = header_.find(name);
  if (found == nullptr) fail_reading(path_, fmt::format("there is no tensor '{}'", name));
  return *found;
}

Tensor SafetensorsFile::read(std::string_view name, const Device& device,
                             const TensorOptions& options) const {
  const SafetensorsHeader::Entry& found = entry(name);
  Tensor tensor = Tensor::empty(found.type.shape, found.type.dtype, device, options);
  read_into(name, tensor);
  return tensor;
}

void SafetensorsFile::read_into(std::string_view name, Tensor& tensor) const {
  const SafetensorsHeader::Entry& found = entry(name);
  if (tensor.type() != found.type || !tensor.is_contiguous()) {
    fail_reading(path_, fmt::format("tensor '{}' is {}; it cannot be read into {}{}", name,
                                    found.type.to_string(), tensor.type().to_string(),
                                    tensor.is_contiguous() ? "" : " with gaps"));
  }
  const std::uint64_t bytes = found.end - found.begin;
  const std::uint64_t from = header_.data_offset + found.begin;
  auto* to = static_cast<std::uint8_t*>(tensor.raw_mutable_data());
  if (tensor.device().capabilities().host_memory) {
    read_all(file_, path_, to, bytes, from);
    return;
  }
  std::vector<std::uint8_t> chunk(static_cast<std::size_t>(std::min(bytes, kReadChunk)));
  for (std::uint64_t done = 0; done < bytes; done += chunk.size()) {
    const std::uint64_t length = std::min<std::uint64_t>(chunk.size(), bytes - done);
    read_all(file_, path_, chunk.data(), length, from + done);
    tensor.device().copy(to + done, chunk.data(), length);
  }
}

}  // namespace plimsoll::train
