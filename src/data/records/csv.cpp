#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/dataset.h>

#include "data/records/csv_row.h"
#include "data/records/number_text.h"
#include "data/records/records_node.h"

namespace plimsoll::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The end of the row that begins at `at`; the end of the file where it has no line end. `closed`
/// is false where it ends within quotes.
std::uint64_t row_end(ByteWindow& window, std::uint64_t at, bool& closed) {
  RowScanner scanner;
  for (;;) {
    const std::string_view piece = text_of(window.at(at, 1));
    if (piece.empty()) break;
    const std::uint64_t end = scanner.find_end(piece, at);
    if (end > 0) return end;
    at += piece.size();
  }
  closed = !scanner.in_quotes();
  return at;
}

std::uint64_t first_row(ByteWindow& window) {
  const std::string_view head = text_of(window.at(0, kByteOrderMark.size()));
  return head.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

/// Where the columns of one file stand, in the order of the features; without features their
/// number.
using Columns = std::vector<std::size_t>;

class CsvFormat final : public RecordFormat {
 public:
  CsvFormat(Features features, const CsvOptions& options, std::vector<Columns> columns)
      : features_(std::move(features)),
        spec_(features_spec(features_, "csv")),
        options_(options),
        columns_(std::move(columns)) {
    for (const Feature& feature : features_) {
      const DType dtype = feature.spec.dtype;
      const bool known = dtype == DType::i64 || dtype == DType::i32 || dtype == DType::f32 ||
                         dtype == DType::f64 || dtype == DType::boolean || dtype == DType::bytes;
      if (known && feature.spec.dims->empty()) continue;
      throw InvalidArgument(
          fmt::format("[csv] column \"{}\" is {}; i64, i32, f32, f64, bool and bytes are read",
                      printable(feature.name), feature.spec.to_string()));
    }
  }
  const char* kind() const override { return "csv"; }
  ElementSpec spec() const override { return spec_; }
  std::string parameters() const override {
    return fmt::format("{}{}{}", features_text(features_),
                       options_.delimiter == ',' ? "" : fmt::format(", '{}'", options_.delimiter),
                       options_.header ? "" : ", no header");
  }
  std::string index_key() const override { return options_.header ? "csv, header" : "csv"; }

  RecordIndex index(ByteWindow& window, std::size_t /*file*/) const override {
    RecordIndex index;
    index.bounds.clear();
    std::uint64_t at = first_row(window);
    bool closed = true;
    if (options_.header) at = row_end(window, at, closed);
    index.bounds.push_back(at);
    while (closed) {
      const std::string_view rest = text_of(window.at(at, 2));
      if (rest.empty()) break;
      const std::uint64_t end = row_end(window, at, closed);
      const bool blank = end - at <= 2 && (rest[0] == '\n' || rest.substr(0, 2) == "\r\n");
      // Blank lines belong to what is before them.
      if (blank) {
        index.bounds.back() = end;
      } else {
        index.bounds.push_back(end);
      }
      at = end;
    }
    if (!closed) {
      if (index.bounds.size() == 1) index.bounds.push_back(std::max(at, index.bounds[0] + 1));
      index.broken = "a quote is not closed before the end of the file";
    }
    index.bounds.shrink_to_fit();
    return index;
  }

  Element parse(std::span<const std::byte> bytes, std::size_t file, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    thread_local std::vector<CsvField> fields;
    split_row(text_of(bytes), options_.delimiter, fields);
    const Columns& columns = columns_[file];
    if (fields.size() != columns.back()) {
      throw DataError(fmt::format("it has {}, but there are {} columns",
                                  counted(static_cast<std::int64_t>(fields.size()), "field"),
                                  columns.back()));
    }
    Element element;
    for (std::size_t i = 0; i < features_.size(); ++i) {
      element.push_back(value(features_[i], fields[columns[i]], memory));
    }
    return element;
  }

 private:
  static Value value(const Feature& feature, const CsvField& field, const RecordMemory& memory) {
    const bool empty = field.text.empty() && !field.quoted;
    if (empty && (feature.missing || feature.spec.dtype != DType::bytes)) {
      return missing_value(feature, memory);
    }
    if (feature.spec.dtype != DType::bytes) return number_from_text(feature, field.text);
    if (!field.escaped) return memory.text(field.text);
    return memory.text(unescaped(field.text));
  }

  Features features_;
  ElementSpec spec_;
  CsvOptions options_;
  std::vector<Columns> columns_;  ///< of each file; their number comes last
};

std::vector<std::string> first_fields(const ByteSource& source, char delimiter) {
  ByteWindow window(source);
  const std::uint64_t begin = first_row(window);
  bool closed = true;
  const std::uint64_t end = row_end(window, begin, closed);
  if (end - begin > ByteWindow::kBuffer) {
    throw DataError(fmt::format("{}: its first row has {}", printable(source.name()),
                                format_bytes(end - begin)));
  }
  std::vector<CsvField> fields;
  try {
    split_row(text_of(window.at(begin, end - begin)).substr(0, end - begin), delimiter, fields);
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("{}: offset {}: {}", printable(source.name()), begin, error.what()));
  }
  std::vector<std::string> names;
  for (const CsvField& field : fields) {
    names.push_back(field.escaped ? unescaped(field.text) : std::string(field.text));
  }
  return names;
}

Columns columns_in(const ByteSource& source, const Features& features, const CsvOptions& options) {
  const std::vector<std::string> names = first_fields(source, options.delimiter);
  Columns columns;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!options.header) {
      columns.push_back(i);
      continue;
    }
    const auto found = std::find(names.begin(), names.end(), features[i].name);
    if (found == names.end()) {
      throw DataError(fmt::format("{}: no column \"{}\" in its header", printable(source.name()),
                                  printable(features[i].name)));
    }
    columns.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  columns.push_back(options.header ? names.size() : features.size());
  return columns;
}

/// The narrowest dtype that has read all values so far.
DType narrowed(DType so_far, std::string_view text) {
  for (const DType dtype : {DType::i64, DType::f32}) {
    if (so_far == DType::bytes || (so_far == DType::f32 && dtype == DType::i64)) continue;
    try {
      number_from_text(Feature("", dtype), text);
      return dtype;
    } catch (const DataError&) {
      continue;
    }
  }
  return DType::bytes;
}

}  // namespace

Features csv_columns(const Shards& files, const CsvOptions& options) {
  constexpr std::int64_t kLookedAt = 1000;
  const auto names = files.files();
  const auto store = options.records.store ? options.records.store : local_files();
  std::vector<std::string> columns = first_fields(*store->open(names.front()), options.delimiter);
  if (!options.header) {
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = std::to_string(i);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto end = columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(columns.begin(), end, columns[i]) == end) continue;
    throw DataError(fmt::format("{}: column \"{}\" is in its header twice; rename one of them",
                                printable(names.front()), printable(columns[i])));
  }
  std::vector<DType> dtypes(columns.size(), DType::i64);
  std::vector<bool> any(columns.size(), false);
  std::vector<CsvField> fields;
  const CsvFormat format({}, options, {});
  look_at_records({names.front()}, format, options.records, kLookedAt,
                  [&](std::span<const std::byte> row, std::size_t /*file*/) {
                    try {
                      split_row(text_of(row), options.delimiter, fields);
                    } catch (const DataError&) {
                      return true;  // told when it is read
                    }
                    for (std::size_t i = 0; i < std::min(fields.size(), dtypes.size()); ++i) {
                      if (fields[i].text.empty()) continue;
                      dtypes[i] = narrowed(dtypes[i], fields[i].text);
                      any[i] = true;
                    }
                    return true;
                  });
  Features features;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    features.emplace_back(columns[i], any[i] ? dtypes[i] : DType::bytes);
  }
  return features;
}

Dataset Dataset::csv(const Shards& files, Features columns, const CsvOptions& options) {
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r' ||
      options.delimiter == '\0') {
    throw InvalidArgument("[csv] a delimiter is neither a quote nor a line end");
  }
  const auto names = files.files();
  const auto store = options.records.store ? options.records.store : local_files();
  std::vector<Columns> places;
  try {
    if (columns.empty()) columns = csv_columns(files, options);
    for (const std::string& name : names) {
      places.push_back(columns_in(*store->open(name), columns, options));
    }
  } catch (const DataError& error) {
    throw DataError(fmt::format("[csv] {}", error.what()));
  }
  return records(names, std::make_shared<CsvFormat>(std::move(columns), options, std::move(places)),
                 options.records);
}

}  // namespace plimsoll::data
