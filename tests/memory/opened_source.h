#pragma once

// A page source as the suites of this folder want it: with ways to read and write its memory, to
// count it and to make it short. What is tested on one source is tested on all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <plimsoll/memory/page_source.h>

namespace plimsoll::testing {

/// A source and what a suite needs to know about it. What is null is not tested.
struct OpenedSource {
  std::shared_ptr<PageSource> source;
  std::string why_not;  ///< set instead of `source` where there is none on this machine

  std::function<void(std::uintptr_t to, const std::vector<std::uint8_t>& bytes)> write;
  std::function<std::vector<std::uint8_t>(std::uintptr_t from, Bytes bytes)> read;
  /// Memory in use as the system counts it, and by how much that may be off.
  std::function<Bytes()> used;
  Bytes used_slack = MiB(4);
  /// While the guard lives, mapping `bytes` must fail.
  struct Shortage {
    Bytes bytes = 0;
    std::shared_ptr<void> guard;
  };
  std::function<Shortage()> make_shortage;
  bool chunked = false;  ///< honours map()'s chunk
};

struct SourceCase {
  std::string name;
  std::function<OpenedSource()> open;

  friend void PrintTo(const SourceCase& source, std::ostream* out) { *out << source.name; }
};

inline std::string case_name(const ::testing::TestParamInfo<SourceCase>& info) {
  return info.param.name;
}

/// Fills in `write` and `read` of a source whose memory the host can touch.
inline OpenedSource touchable(OpenedSource opened) {
  opened.write = [](std::uintptr_t to, const std::vector<std::uint8_t>& bytes) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(to));
  };
  opened.read = [](std::uintptr_t from, Bytes bytes) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(from);
    return std::vector<std::uint8_t>(first, first + bytes);
  };
  return opened;
}

}  // namespace plimsoll::testing
