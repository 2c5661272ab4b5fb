#include <plimsoll/data/element.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

std::string number_text(const Value& value) {
  switch (value.dtype()) {
    case DType::f64:
      return fmt::format("{}", value.as<double>());
    case DType::f32:
      return fmt::format("{}", value.as<float>());
    case DType::f16:
      return fmt::format("{}", static_cast<float>(value.as<Float16>()));
    case DType::bf16:
      return fmt::format("{}", static_cast<float>(value.as<BFloat16>()));
    case DType::i64:
      return fmt::format("{}", value.as<std::int64_t>());
    case DType::i32:
      return fmt::format("{}", value.as<std::int32_t>());
    case DType::i16:
      return fmt::format("{}", value.as<std::int16_t>());
    case DType::i8:
      return fmt::format("{}", static_cast<int>(value.as<std::int8_t>()));
    case DType::u16:
      return fmt::format("{}", value.as<std::uint16_t>());
    case DType::u8:
      return fmt::format("{}", static_cast<int>(value.as<std::uint8_t>()));
    case DType::boolean:
      return value.as<bool>() ? "true" : "false";
    case DType::bytes:
      break;
  }
  return "?";
}

/// Of a longer string the beginning and the length are told: it may be a whole file.
constexpr std::size_t kShownBytes = 80;
/// Of more values the first are told: rows of a table may have thousands.
constexpr std::size_t kShownValues = 32;

std::string value_text(const Value& value) {
  if (value.is_scalar()) return number_text(value);
  const Tensor& tensor = value.tensor();
  if (tensor.dtype() == DType::bytes && tensor.elements() == 1) {
    const std::string_view text = tensor.string_at(0);
    const bool whole = text.size() <= kShownBytes;
    return fmt::format("\"{}{}", printable(text.substr(0, whole ? kShownBytes : kShownBytes / 4)),
                       whole ? "\"" : fmt::format("...\" of {} bytes", text.size()));
  }
  return fmt::format("{} {}", dtype_name(tensor.dtype()), tensor.shape().to_string());
}

}  // namespace

std::optional<Value> Value::of_number(DType dtype, const ops::Scalar& number) {
  if (dtype == DType::bytes || !ops::has_number(dtype, number)) return std::nullopt;
  const double value = number.number();
  switch (dtype) {
    case DType::f64:
      return Value(value);
    case DType::f32:
      return Value(static_cast<float>(value));
    case DType::f16: {
      const Float16 half(static_cast<float>(value));
      return from_bits(dtype, &half);
    }
    case DType::bf16: {
      const BFloat16 half(static_cast<float>(value));
      return from_bits(dtype, &half);
    }
    case DType::boolean:
      return Value(value != 0);
    default:
      break;
  }
  // In the low bytes, as numbers lie on the machines that this runs on.
  const std::int64_t whole = number.whole() ? *number.whole() : static_cast<std::int64_t>(value);
  return from_bits(dtype, &whole);
}

Value Value::from_bits(DType dtype, const void* data) {
  Value value;
  value.dtype_ = dtype;
  std::memcpy(&value.bits_, data, dtype_size(dtype));
  return value;
}

std::string_view Value::text() const {
  if (is_scalar() || dtype_ != DType::bytes || tensor_.elements() != 1) {
    throw InvalidArgument(fmt::format("[Value::text] the component is {}, not one byte string",
                                      is_scalar() ? number_text(*this) : value_text(*this)));
  }
  return tensor_.string_at(0);
}

const Tensor& Value::tensor() const {
  if (is_scalar()) {
    throw InvalidArgument(fmt::format("[Value::tensor] the component is the {} scalar {}",
                                      dtype_name(dtype_), number_text(*this)));
  }
  return tensor_;
}

void Value::wrong_dtype(DType wanted) const {
  throw InvalidArgument(fmt::format("[Value::as] the component is {}, not {}", dtype_name(dtype_),
                                    dtype_name(wanted)));
}

Element& Element::operator=(const Element& other) {
  if (this == &other) return *this;
  clear();
  for (const Value& value : other) push_back(value);
  id = other.id;
  return *this;
}

const Value& Element::at(std::size_t index) const {
  if (index >= size_) {
    throw InvalidArgument(
        fmt::format("[Element::at] no component {} in an element of {}", index, size_));
  }
  return data()[index];
}

void Element::push_back(Value value) {
  if (size_ == capacity_) {
    auto grown = std::make_unique<Value[]>(std::size_t{capacity_} * 2);
    std::move(data(), data() + size_, grown.get());
    more_ = std::move(grown);
    capacity_ *= 2;
  }
  data()[size_++] = std::move(value);
}

void Element::clear() noexcept {
  if (more_) {
    more_.reset();
    capacity_ = kInline;
  } else {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!inline_[i].is_scalar()) inline_[i] = Value();
    }
  }
  size_ = 0;
}

Bytes Element::nbytes() const {
  Bytes total = 0;
  for (const Value& value : *this) total += value.nbytes();
  return total;
}

std::string Element::to_string() const {
  std::string text = "(";
  for (std::size_t i = 0; i < std::min(size(), kShownValues); ++i) {
    if (i > 0) text += ", ";
    text += value_text((*this)[i]);
  }
  if (size() > kShownValues) text += fmt::format(", and {} more", size() - kShownValues);
  return text + ")";
}

const NamedElement::Names& NamedElement::names() const {
  static const Names none;
  return names_ == nullptr ? none : *names_;
}

const Value& NamedElement::operator[](std::string_view name) const {
  const auto ends = [name](const std::string& each) {
    return each.size() > name.size() && each.ends_with(name) &&
           each[each.size() - name.size() - 1] == '/';
  };
  const Names& all = names();
  auto found = std::ranges::find(all, name);
  if (found == all.end() && std::ranges::count_if(all, ends) == 1) {
    found = std::ranges::find_if(all, ends);
  }
  const auto index = static_cast<std::size_t>(found - all.begin());
  if (index < std::min(all.size(), size())) return Element::operator[](index);
  throw InvalidArgument(
      fmt::format("[Element] no component \"{}\" in {}; {}", printable(name), to_string(),
                  all.empty() ? "its components have no names, so use their positions"
                              : fmt::format("there are {}", fmt::join(all, ", "))));
}

}  // namespace plimsoll::data
