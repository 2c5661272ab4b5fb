#include "data/records/csv_row.h"

#include <algorithm>

#include <plimsoll/base/error.h>

namespace plimsoll::data {

std::uint64_t RowScanner::find_end(std::string_view piece, std::uint64_t offset) {
  // A doubled quote closes and opens again, which comes to the same.
  for (std::size_t i = 0; i < piece.size();) {
    const auto found = piece.find_first_of(quoted_ ? "\"" : "\"\n", i);
    if (found == std::string_view::npos) return 0;
    i = found + 1;
    if (piece[found] == '\n') return offset + i;
    quoted_ = !quoted_;
  }
  return 0;
}

void split_row(std::string_view text, char delimiter, std::vector<CsvField>& fields) {
  fields.clear();
  const char ends[] = {delimiter, '\n', '\0'};
  for (std::size_t at = 0;;) {
    CsvField field;
    if (at < text.size() && text[at] == '"') {
      field.quoted = true;
      std::size_t close = at + 1;
      for (;; close += 2) {
        close = text.find('"', close);
        if (close == std::string_view::npos) throw DataError("a quote is not closed");
        if (close + 1 >= text.size() || text[close + 1] != '"') break;
        field.escaped = true;
      }
      field.text = text.substr(at + 1, close - at - 1);
      at = close + 1;
      if (at < text.size() && text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n')) {
        ++at;
      }
      if (at < text.size() && text[at] != delimiter && text[at] != '\n') {
        throw DataError("something follows the quote at the end of a field");
      }
    } else {
      const std::size_t end = std::min(text.find_first_of(ends, at, 2), text.size());
      field.text = text.substr(at, end - at);
      at = end;
      const bool last = at >= text.size() || text[at] == '\n';
      if (last && field.text.ends_with('\r')) field.text.remove_suffix(1);
    }
    fields.push_back(field);
    if (at >= text.size() || text[at] == '\n') return;
    ++at;
  }
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '"') ++i;
  }
  return result;
}

}  // namespace plimsoll::data
