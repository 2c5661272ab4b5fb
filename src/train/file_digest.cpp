#include "train/file_digest.h"

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

}  // namespace

std::string file_digest(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  const auto fail = [&] {
    throw DataError(fmt::format("[checkpoint] {} cannot be read: {}", path, std::strerror(errno)));
  };
  if (file == nullptr) fail();
  std::array<std::uint64_t, kLanes> lanes = {1, 2, 3, 4};
  std::vector<unsigned char> piece(kPiece);
  std::uint64_t size = 0;
  while (const std::size_t read = std::fread(piece.data(), 1, kPiece, file.get())) {
    size += read;
    // The last row is filled with zeros; the size tells them from a file's own.
    const std::size_t rows = (read + kRow - 1) / kRow;
    std::memset(piece.data() + read, 0, rows * kRow - read);
    for (std::size_t row = 0; row < rows; ++row) {
      std::array<std::uint64_t, kLanes> words;
      std::memcpy(words.data(), piece.data() + row * kRow, kRow);
      for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], words[i]);
    }
  }
  if (std::ferror(file.get()) != 0) fail();
  std::uint64_t all = size;
  for (const std::uint64_t lane : lanes) all = mixed(all, lane);
  return fmt::format("{:016x}", all ^ (all >> 31));
}

}  // namespace plimsoll::train
