#include "base/git_commit.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// What `git pack-refs` has put into one file: "COMMIT refs/heads/main" lines.
std::string packed(const fs::path& folder, const std::string& reference) {
  std::ifstream file(folder / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) == reference) {
      return line.substr(0, space);
    }
  }
  return {};
}

std::string head_of(const fs::path& git) {
  constexpr std::string_view kReference = "ref: ";
  const std::string head = first_line(git / "HEAD");
  if (!head.starts_with(kReference)) return head;
  const std::string reference = head.substr(kReference.size());
  // A worktree's branches are in the repository that it belongs to.
  const std::string common = first_line(git / "commondir");
  const fs::path home = common.empty() ? git : git / common;
  const std::string loose = first_line(home / reference);
  return loose.empty() ? packed(home, reference) : loose;
}

}  // namespace

std::string git_commit(const fs::path& folder) {
  constexpr std::string_view kFolder = "gitdir: ";
  std::error_code error;
  fs::path at = fs::absolute(folder, error);
  if (error) return {};
  for (;; at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, error)) {
      const std::string commit = head_of(git);
      return is_commit(commit) ? commit : "";
    }
    const std::string line = first_line(git);
    if (line.starts_with(kFolder)) {
      const std::string commit = head_of(at / line.substr(kFolder.size()));
      return is_commit(commit) ? commit : "";
    }
    if (at == at.parent_path()) return {};
  }
}

}  // namespace plimsoll
