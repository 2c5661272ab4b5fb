#include "train/file_digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {
namespace {

constexpr std::size_t kLanes = 4;  // so that a processor works on several words at once
constexpr std::size_t kRow = kLanes * sizeof(std::uint64_t);
constexpr std::size_t kPiece = 1 << 20;
static_assert(kPiece % kRow == 0);

constexpr std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  return std::rotl((state ^ word) * 0x9e3779b97f4a7c15U, 29);
}

/// Takes pieces of a whole number of rows, but for the last.
class Digest {
 public:
  void add(const unsigned char* bytes, std::size_t count) {
    size_ += count;
    for (std::size_t at = 0; at < count; at += kRow) {
      // The last row is filled with zeros; the size tells them from a file's own.
      std::array<std::uint64_t, kLanes> words = {};
      std::memcpy(words.data(), bytes + at, std::min(kRow, count - at));
      for (std::size_t i = 0; i < kLanes; ++i) lanes_[i] = mixed(lanes_[i], words[i]);
    }
  }
  std::string text() const {
    std::uint64_t all = size_;
    for (const std::uint64_t lane : lanes_) all = mixed(all, lane);
    return fmt::format("{:016x}", all ^ (all >> 31));
  }

 private:
  std::array<std::uint64_t, kLanes> lanes_ = {1, 2, 3, 4};
  std::uint64_t size_ = 0;
};

}  // namespace

std::string file_digest(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  const auto fail = [&] {
    throw DataError(fmt::format("[checkpoint] {} cannot be read: {}", path, std::strerror(errno)));
  };
  if (file == nullptr) fail();
  Digest digest;
  std::vector<unsigned char> piece(kPiece);
  while (const std::size_t read = std::fread(piece.data(), 1, kPiece, file.get())) {
    digest.add(piece.data(), read);
  }
  if (std::ferror(file.get()) != 0) fail();
  return digest.text();
}

std::string text_digest(std::string_view text) {
  Digest digest;
  digest.add(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  return digest.text();
}

}  // namespace plimsoll::train
