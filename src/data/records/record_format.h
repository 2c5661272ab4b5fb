#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/data/records.h>
#include <plimsoll/tensor/tensor.h>

#include "data/engine/row_sink.h"
#include "data/records/byte_window.h"

namespace plimsoll::data {

/// Where the records of one file lie: record i is [at(i), at(i + 1)).
struct RecordIndex {
  /// Empty where records lie at even distances.
  std::vector<std::uint64_t> bounds{0};
  /// What is wrong with the last record, which is all that could not be made sense of; empty if
  /// nothing is. Reading that record is an error with this text.
  std::string broken = {};

  /// Records of one size: `number` of them from `first` on.
  struct Even {
    std::uint64_t first = 0;
    std::uint64_t stride = 0;
    std::uint64_t number = 0;
    std::uint64_t end = 0;  ///< of a broken record after those; 0: there is none
  };
  Even even = {};

  std::size_t count() const {
    return bounds.empty() ? static_cast<std::size_t>(even.number + (even.end > 0 ? 1 : 0))
                          : bounds.size() - 1;
  }
  std::uint64_t at(std::size_t i) const {
    if (!bounds.empty()) return bounds[i];
    return i > even.number ? even.end : even.first + i * even.stride;
  }
  std::uint64_t end() const { return at(count()); }
  Bytes nbytes() const { return bounds.capacity() * sizeof(std::uint64_t); }
  /// Ends with a record that has the rest of the file and cannot be read.
  void end_broken(std::uint64_t end, std::string why) {
    bounds.push_back(end);
    broken = std::move(why);
  }
};

/// A record of its own in memory, charged like a tensor: components may be views of it.
class RecordStorage {
 public:
  /// Room for `bytes`, which are at `offset` of their file. Throws OutOfMemory.
  RecordStorage(const Device& device, Bytes bytes, std::uint64_t offset,
                const TensorOptions& options);
  /// Where the record goes.
  std::byte* data() const { return data_; }
  /// `text` as a view of this; undefined where it is no large part of it.
  Tensor view(std::string_view text) const;

 private:
  std::shared_ptr<Storage> storage_;
  std::byte* data_ = nullptr;
};

/// Memory for the components of an element.
struct RecordMemory {
  const Device& device;
  TensorOptions options;
  /// Where the record was read to; null where that is a buffer which is used again.
  const RecordStorage* record = nullptr;

  /// A byte string as a component. One that is most of the record that was read is a view of it,
  /// any other a copy: so what a component keeps alive, and is charged, is less than twice its
  /// size. Throws OutOfMemory.
  Value text(std::string_view text) const;
};

/// A kind of file with records in it. Immutable; used by several threads at a time.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  /// The dataset's method: "tfrecords".
  virtual const char* kind() const = 0;
  virtual ElementSpec spec() const = 0;
  /// What decides the elements besides the files, for the signature.
  virtual std::string parameters() const = 0;
  /// Tells indexes of this format from others: changes with whatever decides where records lie.
  virtual std::string index_key() const { return kind(); }
  /// Goes through a file of number `file`. Throws DataError only where the source does, or where
  /// the file is of another kind as a whole.
  virtual RecordIndex index(ByteWindow& window, std::size_t file) const = 0;
  /// The element of a record, which is `bytes` and begins at `offset`. Throws DataError without the
  /// file's name; OutOfMemory.
  virtual Element parse(std::span<const std::byte> bytes, std::size_t file, std::uint64_t offset,
                        const RecordMemory& memory) const = 0;
  /// True if parse_row() does the same for rows of a batch.
  virtual bool has_rows() const { return false; }
  /// Writes the components to the row that was begun; throws as parse() does, with the row
  /// half-written.
  virtual void parse_row(std::span<const std::byte> bytes, const RecordMemory& memory,
                         RowSink& row) const;
};

/// The value of the feature for a record that does not have it. DataError where that is an error.
Value missing_value(const Feature& feature, const RecordMemory& memory);
/// One dtype and shape per feature, checked: InvalidArgument naming `kind`.
ElementSpec features_spec(const Features& features, const char* kind);
/// "(image bytes [], label i64 [])", with what is missing.
std::string features_text(const Features& features);
/// The shape of `count` numbers of a feature. DataError where they are too many or too few.
Shape feature_shape(const Feature& feature, std::int64_t count);

}  // namespace plimsoll::data
