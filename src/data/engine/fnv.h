#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::data {

/// FNV-1a: for telling apart and for checking, the same on every machine.
inline std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

}  // namespace plimsoll::data
