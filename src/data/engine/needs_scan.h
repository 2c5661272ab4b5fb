#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <plimsoll/data/needs.h>

#include "data/sources/file_source.h"

namespace plimsoll::data {

/// What the headers of a map's files have said so far. Belongs to the map's node, so that all
/// pipelines and copies of a description share it. Thread-safe.
class NeedsScan {
 public:
  /// `needs` is MapFunction::needs; `sources` outlive this.
  NeedsScan(std::function<Bytes(const std::string& path)> needs,
            std::vector<const FileSource*> sources);

  /// Reads further headers until `deadline`, at most `most` of them; at least one where `most` is
  /// above 0. Returns how many.
  std::int64_t go_on(std::chrono::steady_clock::time_point deadline, std::int64_t most);
  DecodeNeeds known() const;
  /// "path: why" of the first file whose header could not be read; empty if there is none.
  std::string first_unreadable() const;

 private:
  void look_at(const std::string& path);

  const std::function<Bytes(const std::string& path)> needs_;
  const std::vector<const FileSource*> sources_;
  mutable std::mutex mutex_;  ///< of what follows
  std::mutex scanning_;       ///< one reads at a time
  std::size_t source_ = 0;    ///< the one that is being read, and its next file
  std::int64_t next_ = 0;
  DecodeNeeds known_;
  std::string first_unreadable_;
};

}  // namespace plimsoll::data
