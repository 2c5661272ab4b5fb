#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::cuda {

/// Compiled programs on disk, one file each, named by a hash of what they were compiled from. A
/// file also has all of that, so that neither a collision nor a damaged file is ever taken for
/// another program. Nothing here throws: what cannot be read is compiled again, what cannot be
/// written is compiled next time. Thread-safe, and safe among processes.
class CubinCache {
 public:
  /// In `folder`, which is made when something is written; empty: nothing is kept.
  explicit CubinCache(std::string folder) : folder_(std::move(folder)) {}

  /// $PLIMSOLL_CACHE/kernels ("off": nothing is kept), or plimsoll/kernels in $XDG_CACHE_HOME, or
  /// in
  /// ~/.cache.
  static std::string default_folder();

  /// `key` is all that decides the code: compiler, architecture, sources.
  std::optional<std::string> find(std::string_view key) const;
  void keep(std::string_view key, std::string_view cubin) const;

  /// Where `key` is or would be.
  std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
};

}  // namespace plimsoll::cuda
