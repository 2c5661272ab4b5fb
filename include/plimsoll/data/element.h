#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <plimsoll/base/dtype.h>
#include <plimsoll/ops/scalar.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::data {

/// One component of an element: a scalar, which sits inline without any memory of its own, or a
/// tensor. A small value; copies of a tensor share its storage. Distinct objects may be used from
/// distinct threads.
class Value {
 public:
  Value() = default;
  /// Any C++ number that has a dtype: Value(std::int64_t{3}), Value(0.5F), Value(true).
  template <typename T>
  requires(std::is_arithmetic_v<T>) Value(T number)  // NOLINT: elements are written {1.0F, label}
      : dtype_(dtype_of<T>) {
    std::memcpy(&bits_, &number, sizeof(T));
  }
  /// The tensor must be defined.
  Value(Tensor tensor)  // NOLINT: as above
      : tensor_(std::move(tensor)), dtype_(tensor_.dtype()) {}

  /// A scalar of `dtype` (not bytes) from its first dtype_size() bytes at `data`.
  static Value from_bits(DType dtype, const void* data);
  /// A number as a scalar of `dtype`; nullopt if that has no such number (1.5 for i32, 300 for u8).
  static std::optional<Value> of_number(DType dtype, const ops::Scalar& number);

  bool is_scalar() const { return !tensor_.defined(); }
  DType dtype() const { return dtype_; }
  /// Rank 0 for an inline scalar.
  Shape shape() const { return is_scalar() ? Shape{} : tensor_.shape(); }
  /// Bytes of the contents; an inline scalar counts its dtype's size.
  Bytes nbytes() const { return is_scalar() ? dtype_size(dtype_) : tensor_.nbytes(); }

  /// The number, inline or in a tensor with one element. InvalidArgument if the dtype is another.
  template <typename T>
  T as() const {
    if (!is_scalar()) return tensor_.item<T>();
    if (dtype_ != dtype_of<T>) wrong_dtype(dtype_of<T>);
    T number;
    std::memcpy(static_cast<void*>(&number), &bits_, sizeof(T));
    return number;
  }
  /// The byte string of a tensor of DType::bytes with one element (a path, a line); valid as long
  /// as its storage is. InvalidArgument for anything else.
  std::string_view text() const;

  /// The tensor. InvalidArgument for an inline scalar.
  const Tensor& tensor() const;

  /// The 8 bytes an inline scalar lies in, the rest of them zero.
  const std::uint64_t& bits() const { return bits_; }

 private:
  [[noreturn]] void wrong_dtype(DType wanted) const;

  Tensor tensor_;
  std::uint64_t bits_ = 0;
  DType dtype_ = DType::i64;
};

/// What a pipeline hands from stage to stage: a flat list of components. Nested tuples are
/// flattened; their names are in the ElementSpec. Up to kInline components need no allocation.
///
/// `id` is the element's identity: a function of where it came from (source ordinal, repeat
/// counts, interleave path), fixed before filters and errors, so that what is drawn at random for
/// it does not depend on threads, budgets or its neighbours. Ids of distinct elements of a stream
/// differ but for collisions of a 64-bit hash.
///
/// Distinct objects may be used from distinct threads.
class Element {
 public:
  static constexpr std::size_t kInline = 2;

  Element() = default;
  Element(std::initializer_list<Value> values) {
    for (const Value& value : values) push_back(value);
  }
  Element(const Element& other) { *this = other; }
  Element& operator=(const Element& other);
  Element(Element&& other) noexcept { take(other); }
  Element& operator=(Element&& other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }
  ~Element() = default;

  std::uint64_t id = 0;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Value* begin() const { return data(); }
  const Value* end() const { return data() + size_; }
  /// Component `index`, which must be below size().
  const Value& operator[](std::size_t index) const { return data()[index]; }
  Value& operator[](std::size_t index) { return data()[index]; }
  /// The same, checked: InvalidArgument.
  const Value& at(std::size_t index) const;

  void push_back(Value value);
  void clear() noexcept;

  /// Bytes of all contents.
  Bytes nbytes() const;
  /// "(3, f32 [224,224,3])": scalars and short strings by value, tensors by dtype and shape.
  std::string to_string() const;

 private:
  Value* data() { return more_ ? more_.get() : inline_; }
  const Value* data() const { return more_ ? more_.get() : inline_; }
  void take(Element& other) noexcept {
    id = other.id;
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.more_) {
      more_ = std::move(other.more_);
    } else {
      for (std::size_t i = 0; i < size_; ++i) inline_[i] = std::move(other.inline_[i]);
    }
    other.size_ = 0;
    other.capacity_ = kInline;
  }

  Value inline_[kInline];
  std::unique_ptr<Value[]> more_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
};

/// An element as a pipeline hands it out: its components have the names of the ElementSpec.
class NamedElement : public Element {
 public:
  using Names = std::vector<std::string>;

  /// `names` has one for each component, or is null: there are none.
  NamedElement(Element element, std::shared_ptr<const Names> names)
      : Element(std::move(element)), names_(std::move(names)) {}

  using Element::operator[];
  /// The component called `name`. Of nested names ("0/image") the end will do where it is the only
  /// one. InvalidArgument naming what there is.
  const Value& operator[](std::string_view name) const;
  /// One for each component, or empty.
  const Names& names() const;

 private:
  std::shared_ptr<const Names> names_;
};

/// Elements on their way from one stage to the next.
using ElementBlock = std::vector<Element>;

/// An identity made of two others, order mattering: a well mixed 64-bit hash.
constexpr std::uint64_t mix_ids(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15U + (b ^ 0xD1B54A32D192ED03U);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace plimsoll::data
