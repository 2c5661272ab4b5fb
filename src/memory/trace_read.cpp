#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

#include "memory/close_file.h"
#include "memory/trace_format.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 10;
constexpr std::size_t kMaxColumns = 64;
constexpr std::size_t kReadSize = std::size_t{1} << 20;

/// Cuts what it is fed into lines and lines into fields, so that a file of any size is read in
/// constant space.
class Parser {
 public:
  explicit Parser(std::string_view name) : at_{std::string(name)} {}

  void feed(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (partial_.size() + std::min(end, text.size()) > kMaxLine) {
        ++at_.line;
        at_.fail(fmt::format("the line is longer than {} bytes; is this a text file?", kMaxLine));
      }
      if (end == std::string_view::npos) {
        partial_ += text;
        return;
      }
      if (partial_.empty()) {
        line(text.substr(0, end));
      } else {
        partial_ += text.substr(0, end);
        line(partial_);
        partial_.clear();
      }
      text.remove_prefix(end + 1);
    }
  }

  Trace finish() {
    // A last line without its newline counts if all that matters in it is certainly whole.
    if (format_ && format_->can_spare_last_field() && split(partial_).size() == columns_) {
      line(partial_);
      partial_.clear();
    }
    if (!partial_.empty()) {
      ++at_.line;
      at_.fail("the file ends in mid-line; it was cut short, or its last newline is missing");
    }
    if (!format_) {
      throw DataError(
          fmt::format("[trace] {}: the file is empty; expected a header, {}", at_.file, kHeaders));
    }
    return format_->finish();
  }

 private:
  static constexpr std::string_view kHeaders =
      "Thread,Time,Action,Pointer,Size,Stream or id,lower,upper,size";

  void line(std::string_view text) {
    ++at_.line;
    if (text.find('\0') != std::string_view::npos) {
      at_.fail("the line has a NUL byte; this is not a text file");
    }
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) return;
    if (!format_) return header(text);
    const TraceFields fields = split(text);
    if (fields.size() != columns_) {
      at_.fail(fmt::format("the line has {} column{}, the header {}", fields.size(),
                           fields.size() == 1 ? "" : "s", columns_));
    }
    format_->line(fields);
  }

  void header(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const TraceFields names = split(text);
    columns_ = names.size();
    format_ = make_rmm_format(names, at_);
    if (!format_) format_ = make_buffer_list_format(names, at_);
    if (!format_) {
      at_.fail(
          fmt::format("the header {} is not one of a trace; expected {}", quoted(text), kHeaders));
    }
  }

  TraceFields split(std::string_view text) {
    std::size_t count = 0;
    while (true) {
      if (count == kMaxColumns) {
        at_.fail(fmt::format("the line has more than {} columns", kMaxColumns));
      }
      const std::size_t comma = text.find(',');
      fields_[count++] = text.substr(0, comma);
      if (comma == std::string_view::npos) return {fields_.data(), count};
      text.remove_prefix(comma + 1);
    }
  }

  TracePosition at_;
  std::string partial_;
  std::array<std::string_view, kMaxColumns> fields_;
  std::size_t columns_ = 0;
  std::unique_ptr<TraceFormat> format_;
};

}  // namespace

void TracePosition::fail(std::string_view what) const {
  throw DataError(fmt::format("[trace] {}:{}: {}", file, line, what));
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 48;
  std::string shown(text.substr(0, kShown));
  for (char& c : shown) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

int find_column(TraceFields header, std::string_view name, const TracePosition& at) {
  int found = -1;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] != name) continue;
    if (found >= 0) at.fail(fmt::format("the header has two columns {}", quoted(name)));
    found = static_cast<int>(i);
  }
  return found;
}

std::uint64_t read_number(std::string_view field, std::string_view column, std::uint64_t max,
                          const TracePosition& at) {
  std::uint64_t value = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (field.empty()) at.fail(fmt::format("{} is empty", column));
  if (field.front() == '-') at.fail(fmt::format("{} {} is negative", column, quoted(field)));
  if (error == std::errc::invalid_argument || stop != end) {
    at.fail(fmt::format("{} {} is not a whole number", column, quoted(field)));
  }
  if (error == std::errc::result_out_of_range || value > max) {
    at.fail(fmt::format("{} {} is too large; at most {}", column, quoted(field), max));
  }
  return value;
}

void check_total(Bytes allocated, Bytes bytes, const TracePosition& at) {
  if (bytes > kTraceMaxBytes - allocated) {
    at.fail(fmt::format("the trace allocates more than {} bytes in all", kTraceMaxBytes));
  }
}

Trace parse_trace(std::string_view text, std::string_view name) {
  Parser parser(name);
  parser.feed(text);
  return parser.finish();
}

Trace read_trace(const std::string& path) {
  const auto fail = [&](int error) {
    throw DataError(fmt::format("[trace] cannot read {}: {}", path, std::strerror(error)));
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) fail(errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  Parser parser(path);
  std::vector<char> buffer(kReadSize);
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    parser.feed({buffer.data(), n});
  }
  if (std::ferror(file.get()) != 0) fail(errno);
  return parser.finish();
}

}  // namespace plimsoll
