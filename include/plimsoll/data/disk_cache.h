#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::data {

/// What Dataset::cache(folder) has kept of one pipeline.
struct CacheEntry {
  std::string name;      ///< its fingerprint, which is its folder's name
  std::string pipeline;  ///< the signature of what was cached, a line per stage
  std::int64_t segments = 0;
  std::int64_t elements = 0;
  Bytes bytes = 0;
  bool complete = false;            ///< holds a whole epoch
  std::vector<std::string> broken;  ///< files that are damaged, and what is wrong with them
};

/// The caches in `folder`, by name. `verify`: reads all of them and checks every checksum; without
/// it only the ends of files are looked at. DataError where the folder cannot be read.
std::vector<CacheEntry> list_cache(const std::string& folder, bool verify = false);

/// Removes the cache called `name`, or all if that is empty, and returns the bytes that came free.
/// A pipeline that is running makes again what it needs. InvalidArgument where there is none of
/// that name.
Bytes clear_cache(const std::string& folder, const std::string& name = {});

}  // namespace plimsoll::data
