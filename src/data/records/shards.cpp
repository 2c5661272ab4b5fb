#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include <glob.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/records.h>

namespace plimsoll::data {
namespace {

constexpr std::size_t kMostShards = 1'000'000;

/// "003..120" as its numbers, with the zeros of the longer end; empty if it is no such range.
std::vector<std::string> numbers_of(std::string_view range) {
  const auto dots = range.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view first = range.substr(0, dots);
  const std::string_view last = range.substr(dots + 2);
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto begin = number(first);
  const auto end = number(last);
  if (!begin || !end || *end < *begin) return {};
  if (*end - *begin >= kMostShards) {
    throw InvalidArgument(
        fmt::format("[shards] {{{}}} stands for more than {} files", range, kMostShards));
  }
  const bool padded = first.starts_with('0') || last.starts_with('0');
  const std::size_t width = padded ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> result;
  for (std::uint64_t i = *begin; i <= *end; ++i) result.push_back(fmt::format("{:0{}}", i, width));
  return result;
}

std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> result = numbers_of(inside);
  if (!result.empty()) return result;
  int depth = 0;
  std::string each;
  for (const char c : inside) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      result.push_back(std::move(each));
      each.clear();
    } else {
      each += c;
    }
  }
  if (result.empty()) return {};  // no alternatives: the braces are part of the name
  result.push_back(std::move(each));
  return result;
}

std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

void expand_braces(const std::string& pattern, std::size_t from, std::vector<std::string>& out) {
  for (std::size_t open = pattern.find('{', from); open != std::string::npos;
       open = pattern.find('{', open + 1)) {
    const std::size_t close = closing_brace(pattern, open);
    if (close == std::string::npos) break;
    const auto choices = alternatives(std::string_view(pattern).substr(open + 1, close - open - 1));
    if (choices.empty()) continue;
    for (const std::string& choice : choices) {
      expand_braces(pattern.substr(0, open) + choice + pattern.substr(close + 1), open, out);
    }
    return;
  }
  if (out.size() >= kMostShards) {
    throw InvalidArgument(
        fmt::format("[shards] {} stands for more than {} files", printable(pattern), kMostShards));
  }
  out.push_back(pattern);
}

void add_matches(const std::string& pattern, std::vector<std::string>& out) {
  std::error_code error;
  if (std::filesystem::exists(pattern, error) ||
      pattern.find_first_of("*?[") == std::string::npos) {
    out.push_back(pattern);
    return;
  }
  ::glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::unique_ptr<::glob_t, decltype(&::globfree)> guard(&found, &::globfree);
  if (status != 0 || found.gl_pathc == 0) {
    throw DataError(fmt::format("{}: no file matches it", printable(pattern)));
  }
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(paths.begin(), paths.end());
  out.insert(out.end(), paths.begin(), paths.end());
}

}  // namespace

std::vector<std::string> Shards::files() const {
  std::vector<std::string> result;
  for (const std::string& pattern : patterns) {
    std::error_code error;
    if (std::filesystem::exists(pattern, error)) {
      result.push_back(pattern);
      continue;
    }
    std::vector<std::string> expanded;
    expand_braces(pattern, 0, expanded);
    for (const std::string& each : expanded) add_matches(each, result);
  }
  if (result.empty()) throw DataError("[shards] no files");
  return result;
}

}  // namespace plimsoll::data
