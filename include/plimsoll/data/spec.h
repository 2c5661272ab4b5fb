#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>
#include <plimsoll/data/element.h>

namespace plimsoll::data {

/// An extent that differs from element to element.
inline constexpr std::int64_t kAnyExtent = -1;

/// What is known of one component without running: its dtype and as much of its shape as is fixed.
struct TensorSpec {
  DType dtype = DType::f32;
  /// One extent per dimension, kAnyExtent where it varies; nullopt: not even the rank is known.
  std::optional<std::vector<std::int64_t>> dims = std::vector<std::int64_t>{};

  static TensorSpec scalar(DType dtype) { return {dtype, std::vector<std::int64_t>{}}; }
  static TensorSpec of(DType dtype, const Shape& shape) {
    return {dtype, std::vector<std::int64_t>(shape.begin(), shape.end())};
  }
  /// What `value` is.
  static TensorSpec of(const Value& value) { return of(value.dtype(), value.shape()); }

  /// True if every extent is known.
  bool is_fixed() const;
  /// InvalidArgument unless is_fixed().
  Shape shape() const;
  /// Bytes of the contents; nullopt unless fixed, and for DType::bytes.
  std::optional<Bytes> nbytes() const;
  /// True if a value of `other` is one of this, too.
  bool admits(const TensorSpec& other) const;
  /// The same with another dimension in front, as batching gives.
  TensorSpec batched(std::int64_t extent) const;
  /// The same without the first dimension.
  TensorSpec unbatched() const;
  /// The tightest spec that admits both; the dtypes must be equal.
  static TensorSpec common(const TensorSpec& a, const TensorSpec& b);
  /// "f32 [224,224,3]", "bytes []", "i64 [?,3]", "f32 ?".
  std::string to_string() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// What is known of a dataset's elements without running: one spec per component, or nothing where
/// a stage does not say.
struct ElementSpec {
  /// False: not even the number of components is known; `components` is empty.
  bool known = true;
  std::vector<TensorSpec> components;
  /// One per component, or empty. Nested names are paths: "image", "0/label".
  std::vector<std::string> names;

  static ElementSpec unknown() { return {false, {}, {}}; }

  /// Position of the component called `name`. InvalidArgument if there is none.
  std::size_t index(const std::string& name) const;
  /// Bytes of an element; nullopt unless all components are fixed.
  std::optional<Bytes> nbytes() const;
  /// "(image f32 [224,224,3], label i64 [])"; "unknown".
  std::string to_string() const;
  friend bool operator==(const ElementSpec&, const ElementSpec&) = default;
};

}  // namespace plimsoll::data
