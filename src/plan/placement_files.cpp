#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>
#include <plimsoll/plan/placement.h>

namespace plimsoll::plan {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Takes the text up to `end` off the front of `text`, and `end` with it.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

std::uint64_t number(std::string_view field) {
  std::uint64_t value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

}  // namespace

BufferList parse_buffer_list(std::string_view text, std::string_view name) {
  // Finds every mistake there can be; what is left to do here is to take the numbers.
  parse_trace(text, name);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  constexpr std::array<std::string_view, 4> kColumns = {"id", "lower", "upper", "size"};
  constexpr std::size_t kIgnored = kColumns.size();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  BufferList list;
  std::vector<std::size_t> meaning;  // of each column
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (meaning.empty()) {
      while (!line.empty()) {
        const std::string_view column = take(line, ',');
        std::size_t which = 0;
        while (which < kIgnored && kColumns[which] != column) ++which;
        if (column == "Action") {
          throw DataError(fmt::format(
              "[place] {}: this is a log of allocations; placing needs a list of buffers with the "
              "columns id,lower,upper,size",
              name));
        }
        meaning.push_back(which);
      }
      continue;
    }
    std::array<std::string_view, kIgnored + 1> fields;
    for (const std::size_t which : meaning) fields[which] = take(line, ',');
    list.ids.emplace_back(fields[0]);
    list.buffers.push_back({.size = number(fields[3]),
                            .lower = static_cast<std::int64_t>(number(fields[1])),
                            .upper = static_cast<std::int64_t>(number(fields[2]))});
  }
  return list;
}

BufferList read_buffer_list(const std::string& path) {
  const auto fail = [&](int error) {
    throw DataError(fmt::format("[place] cannot read {}: {}", path, std::strerror(error)));
  };
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) fail(errno);
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), n);
  }
  if (std::ferror(file.get()) != 0) fail(errno);
  return parse_buffer_list(text, path);
}

void write_placement(const std::string& path, const BufferList& list, const Placement& placement) {
  const auto fail = [&](int error) {
    throw DataError(fmt::format("[place] cannot write {}: {}", path, std::strerror(error)));
  };
  if (list.ids.size() != list.buffers.size() || list.ids.size() != placement.offsets.size()) {
    throw InvalidArgument(
        fmt::format("[write_placement] {} ids, {} buffers and {} offsets; there must be one of "
                    "each for each buffer",
                    list.ids.size(), list.buffers.size(), placement.offsets.size()));
  }
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file) fail(errno);
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < list.ids.size(); ++i) {
    const Buffer& buffer = list.buffers[i];
    text += fmt::format("{},{},{},{},{}\n", list.ids[i], buffer.lower, buffer.upper, buffer.size,
                        placement.offsets[i]);
  }
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) fail(errno);
  if (std::fclose(file.release()) != 0) fail(errno);
}

}  // namespace plimsoll::plan
