#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::data {

/// A field of a CSV row as it stands there, without its outer quotes.
struct CsvField {
  std::string_view text;
  bool quoted = false;
  bool escaped = false;  ///< has doubled quotes
};

/// Splits the first row of `text`, which may have line ends after it. Throws DataError for quotes
/// that are not closed, or that something follows.
void split_row(std::string_view text, char delimiter, std::vector<CsvField>& fields);

/// The field with each doubled quote as one.
std::string unescaped(std::string_view text);

/// Finds the ends of rows in text that comes in pieces.
class RowScanner {
 public:
  /// The offset after the end of the row that goes on in `piece`, whose first byte is at `offset`;
  /// 0: the row does not end in it.
  std::uint64_t find_end(std::string_view piece, std::uint64_t offset);
  bool in_quotes() const { return quoted_; }

 private:
  bool quoted_ = false;
};

}  // namespace plimsoll::data
