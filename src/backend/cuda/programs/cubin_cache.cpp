#include "backend/cuda/programs/cubin_cache.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace plimsoll::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "plimsoll kernels 1\n";

/// FNV-1a. Files have their whole key, so a collision costs a compilation and no more.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

/// Before the key and the code.
struct Header {
  std::uint64_t key = 0;   ///< bytes
  std::uint64_t code = 0;  ///< bytes
  std::uint64_t hash = 0;  ///< of both
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT: read, not kept
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::string CubinCache::default_folder() {
  const std::string own = variable("PLIMSOLL_CACHE");
  if (own == "off") return {};
  if (!own.empty()) return own + "/kernels";
  const std::string shared = variable("XDG_CACHE_HOME");
  if (!shared.empty()) return shared + "/plimsoll/kernels";
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.cache/plimsoll/kernels";
}

std::string CubinCache::path_of(std::string_view key) const {
  return fmt::format("{}/{:016x}.cubin", folder_, hash_of(key));
}

std::optional<std::string> CubinCache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream read;
  read << file.rdbuf();
  const std::string all = std::move(read).str();
  Header header;
  if (all.size() < kMagic.size() + sizeof(header) || !all.starts_with(kMagic)) return std::nullopt;
  std::memcpy(&header, all.data() + kMagic.size(), sizeof(header));
  const std::string_view rest = std::string_view(all).substr(kMagic.size() + sizeof(header));
  if (header.key != key.size() || rest.size() < header.key ||
      rest.size() - header.key != header.code) {
    return std::nullopt;
  }
  if (rest.substr(0, key.size()) != key || hash_of(rest) != header.hash) return std::nullopt;
  return std::string(rest.substr(key.size()));
}

void CubinCache::keep(std::string_view key, std::string_view cubin) const {
  if (folder_.empty()) return;
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  const std::string path = path_of(key);
  // Written beside it and renamed, so that no reader ever sees half a file.
  const std::string made = fmt::format("{}.{}.{}", path, ::getpid(), counter++);
  const Header header{
      .key = key.size(), .code = cubin.size(), .hash = hash_of(cubin, hash_of(key))};
  std::array<char, sizeof(header)> bytes{};
  std::memcpy(bytes.data(), &header, sizeof(header));
  bool written = false;
  {
    std::ofstream file(made, std::ios::binary | std::ios::trunc);
    file.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    file.write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
    file.close();
    written = static_cast<bool>(file);
  }
  if (written) fs::rename(made, path, error);
  if (!written || error) fs::remove(made, error);
}

}  // namespace plimsoll::cuda
