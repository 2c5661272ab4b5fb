#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::cgroup {

/// A directory of a control group hierarchy.
struct Group {
  std::string path;      ///< as this program opens it, `root` included
  bool unified = false;  ///< version 2
};

/// Every group that limits this process through `controller` ("memory", "cpu") as far as this
/// process can see them: its own first, then its ancestors up to the mount point. Both versions
/// may appear, for systems that have both.
std::vector<Group> groups(std::string_view controller, const std::string& root);

/// The contents of a small file, without the trailing newline; nullopt if it cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// The number a file holds; nullopt for "max", for anything that is no number, or no file.
std::optional<Bytes> read_number(const std::string& path);

/// The value after `key` in lines of the form "key value", in the unit of the file.
std::optional<Bytes> find_value(std::string_view text, std::string_view key);

}  // namespace plimsoll::cgroup
