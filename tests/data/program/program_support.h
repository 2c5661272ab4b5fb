#pragma once

#include <string>
#include <vector>

#include <plimsoll/data/program_ops.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {

inline TensorSpec numbers_of(DType dtype, std::vector<std::int64_t> dims) {
  return {dtype, std::move(dims)};
}

/// Elements of unnamed components.
inline ElementSpec elements_of(std::vector<TensorSpec> components) {
  return {true, std::move(components), {}};
}

/// (path, label).
inline ElementSpec labelled_paths() {
  return {
      true, {TensorSpec::scalar(DType::bytes), TensorSpec::scalar(DType::i64)}, {"path", "label"}};
}

template <typename T>
Tensor row_of(std::vector<T> values, const Shape& shape, const Device& device) {
  return Tensor::from_values<T>(std::span<const T>(values), shape, device);
}

inline Value text_value(std::string_view text, const Device& device) {
  return Value(Tensor::from_strings({text}, {}, device));
}

/// The element's contents, bit by bit.
inline std::string bits_of(const Value& value) {
  if (value.is_scalar()) return {reinterpret_cast<const char*>(&value.bits()), 8};
  if (value.dtype() == DType::bytes) return text_of(Element{value});
  const Tensor dense = value.tensor().contiguous();
  return {static_cast<const char*>(dense.raw_data()), dense.nbytes()};
}

/// What `work` throws, as text.
template <typename Failure, typename Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.what();
  } catch (const std::exception& other) {
    return std::string("another exception: ") + other.what();
  }
  return "nothing was thrown";
}

}  // namespace plimsoll::data::testing
