#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <plimsoll/base/dtype.h>
#include <plimsoll/base/shape.h>

namespace plimsoll::ops {

/// The parameters of an op that are no tensors: axes, strides, a dtype.
using Attribute =
    std::variant<bool, std::int64_t, double, DType, std::string, std::vector<std::int64_t>>;

/// A few named parameters in the order they were given. Names are string literals: they are not
/// copied. Distinct objects may be used from distinct threads.
class Attributes {
 public:
  using Entry = std::pair<std::string_view, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value, which must be of that kind; InternalError naming it if it is absent or of another.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  /// `integers` as a shape.
  Shape shape(std::string_view name) const;

  /// Adds or replaces.
  void set(std::string_view name, Attribute value);

  const std::vector<Entry>& entries() const { return entries_; }
  /// "axis=1 keep=true"
  std::string to_string() const;
  std::size_t hash() const;
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  const Attribute* find(std::string_view name) const;
  template <typename T>
  const T& get(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// An extent list as an attribute.
std::vector<std::int64_t> to_integers(const Shape& shape);

}  // namespace plimsoll::ops
