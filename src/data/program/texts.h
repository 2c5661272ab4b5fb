#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/program/op.h"

// What ops on byte strings have in common.

namespace plimsoll::data {

/// Bytes of the input's shape.
std::vector<TensorSpec> same_texts(const SpecInputs& inputs);
/// Other elements of the input's shape.
std::vector<TensorSpec> shaped_like_texts(const SpecInputs& inputs, DType dtype);

/// Gives `change(text)` for each string. What it refers to must live until then: a part of the
/// input, or of `kept`, which has a string for each.
template <typename Change>
void each_text(ProgramCall& call, Change change) {
  const ProgramInput& from = call.input(0);
  const auto count = static_cast<std::size_t>(from.elements());
  std::vector<std::string> kept(count);
  std::vector<std::string_view> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = change(from.text(static_cast<std::int64_t>(i)), kept[i]);
  }
  call.give(Value(call.context().texts(texts, from.shape())));
}

/// Gives `number(text)` for each string.
template <typename T, typename Number>
void each_number(ProgramCall& call, Number number) {
  const ProgramInput& from = call.input(0);
  if (from.shape().rank() == 0) {
    call.give(Value(static_cast<T>(number(from.text()))));
    return;
  }
  Tensor to = call.output(from.shape(), dtype_of<T>);
  T* const out = to.mutable_data<T>();
  for (std::int64_t i = 0; i < from.elements(); ++i) out[i] = static_cast<T>(number(from.text(i)));
}

}  // namespace plimsoll::data
