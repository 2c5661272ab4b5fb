#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/record_format.h"

namespace plimsoll::data {

/// One feature of a tf.train.Example as it is stored: the bytes of its list.
struct StoredFeature {
  enum class Kind : std::uint8_t { none, bytes, floats, ints };
  Kind kind = Kind::none;
  std::string_view list;  ///< the message BytesList, FloatList or Int64List

  /// Values in it. Throws DataError for bytes that are no such list.
  std::int64_t count() const;
  /// Copies all count() of them; the list must be of that kind.
  void copy_to(std::int64_t* to) const;
  void copy_to(float* to) const;
  /// The byte strings of a list of them, which lie in `list`.
  std::vector<std::string_view> texts() const;
};

/// The feature of that name; of kind `none` where there is no such feature, or an empty one.
StoredFeature find_feature(std::string_view example, std::string_view name);
/// The kind that has values of `dtype`: i64, f32 or bytes.
StoredFeature::Kind stored_kind(DType dtype);
/// "bytes", "floats", "integers"
const char* kind_name(StoredFeature::Kind kind);

/// Calls `each` with the name of every feature and what it has, in stored order; of a name that is
/// there twice the last one counts. Throws DataError for bytes that are no Example.
void read_example(std::string_view bytes,
                  const std::function<void(std::string_view name, const StoredFeature&)>& each);

/// Makes elements of tf.train.Examples. Immutable.
class ExampleParser {
 public:
  /// InvalidArgument for features that no Example has.
  explicit ExampleParser(Features features);
  const ElementSpec& spec() const { return spec_; }
  const Features& features() const { return features_; }
  /// Throws DataError, and OutOfMemory.
  Element parse(std::string_view bytes, const RecordMemory& memory) const;
  /// True if all features are of a fixed size or one byte string.
  bool has_rows() const { return has_rows_; }
  /// The same to a row of a batch, which is half-written where it throws.
  void parse_row(std::string_view bytes, const RecordMemory& memory, RowSink& row) const;

 private:
  Features features_;
  ElementSpec spec_;
  std::vector<std::int64_t> elements_;  ///< of each feature; 0 where that is not fixed
  bool has_rows_ = true;
};

/// The Example of an element whose components are called `names`, as protobuf writes it with sorted
/// names. Integers become int64, floating-point numbers float. InvalidArgument for an element with
/// other components.
std::string encode_example(const Element& element, std::span<const std::string> names);

}  // namespace plimsoll::data
