#include "base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace plimsoll::cgroup {
namespace {

/// Where a hierarchy is mounted, and which of its groups is at the mount point.
struct Mount {
  std::string point;
  std::string root;
  bool unified = false;
  std::string controllers;  ///< comma-separated; version 1 only
};

bool lists(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// The kernel writes spaces and the like in paths as \040.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      result.push_back(static_cast<char>(code));
      i += 3;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::istringstream lines(read_file(root + "/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root point options [optional fields] - type source super-options
    std::istringstream fields(line);
    std::string skip, group, point, field, type, source, super;
    fields >> skip >> skip >> skip >> group >> point;
    while (fields >> field && field != "-") {
    }
    fields >> type >> source >> super;
    if (type == "cgroup2") {
      mounts.push_back({unescape(point), unescape(group), true, {}});
    } else if (type == "cgroup") {
      mounts.push_back({unescape(point), unescape(group), false, super});
    }
  }
  return mounts;
}

/// This process's group in the hierarchy of `mount`.
std::optional<std::string> own_group(std::string_view table, std::string_view controller,
                                     bool unified) {
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    // id:controllers:path
    const auto first = line.find(':');
    if (first == std::string::npos) continue;
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (unified ? line.starts_with("0::") : lists(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

/// `group` as seen from the mount point: what follows the mount's own group. A group that the
/// mount does not show (a namespace's, "/../..") leaves the mount point itself.
std::string below_mount(std::string_view group, std::string_view mount_root) {
  if (mount_root == "/") mount_root = {};
  if (!group.starts_with(mount_root)) return {};
  group.remove_prefix(mount_root.size());
  if (!group.empty() && group.front() != '/') return {};
  while (group.ends_with('/')) group.remove_suffix(1);
  if (group.find("/..") != std::string_view::npos) return {};
  return std::string(group);
}

}  // namespace

std::vector<Group> groups(std::string_view controller, const std::string& root) {
  const auto table = read_file(root + "/proc/self/cgroup");
  if (!table) return {};
  std::vector<Group> result;
  for (const Mount& mount : read_mounts(root)) {
    if (!mount.unified && !lists(mount.controllers, controller)) continue;
    const auto own = own_group(*table, controller, mount.unified);
    if (!own) continue;
    const std::string top = root + (mount.point == "/" ? "" : mount.point);
    std::string below = below_mount(*own, mount.root);
    while (true) {
      result.push_back({top + below, mount.unified});
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return result;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  std::string result = std::move(text).str();
  while (result.ends_with('\n')) result.pop_back();
  return result;
}

std::optional<Bytes> read_number(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  Bytes value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::optional<Bytes> find_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.empty() || (line.front() != ' ' && line.front() != '\t')) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    Bytes value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc{}) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::cgroup
