#include "data/engine/spilled_element.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"

namespace plimsoll::data {
namespace {

// A place holds words (the number of them, the id, the number of values, then for each value its
// dtype, its rank + 1 or 0 for an inline scalar, and its extents or its bits; for byte strings
// their lengths), and after those the tensors' bytes.
using Words = std::vector<std::uint64_t>;

Words describe(const Element& element, const std::vector<Tensor>& tensors) {
  Words words{0, element.id, element.size()};
  for (std::size_t i = 0; i < element.size(); ++i) {
    const Value& value = element[i];
    words.push_back(static_cast<std::uint64_t>(value.dtype()));
    if (value.is_scalar()) {
      words.push_back(0);
      words.push_back(value.bits());
      continue;
    }
    const Shape shape = value.shape();
    words.push_back(static_cast<std::uint64_t>(shape.rank()) + 1);
    for (const std::int64_t extent : shape) words.push_back(static_cast<std::uint64_t>(extent));
    if (value.dtype() != DType::bytes) continue;
    for (std::int64_t s = 0; s < tensors[i].elements(); ++s) {
      words.push_back(tensors[i].string_at(s).size());
    }
  }
  words[0] = words.size();
  return words;
}

void write_contents(SpillFile& file, std::uint64_t at, const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    if (tensor.dtype() != DType::bytes) {
      file.write(at, tensor.raw_data(), tensor.nbytes());
      at += tensor.nbytes();
      continue;
    }
    for (std::int64_t s = 0; s < tensor.elements(); ++s) {
      const std::string_view text = tensor.string_at(s);
      file.write(at, text.data(), text.size());
      at += text.size();
    }
  }
}

Words read_words(const SpillFile& file, const SpilledElement& spilled) {
  // Nearly always all of them.
  constexpr Bytes kGuess = 32 * sizeof(std::uint64_t);
  Words words(std::min(spilled.length, kGuess) / sizeof(std::uint64_t));
  file.read(spilled.offset, words.data(), words.size() * sizeof(std::uint64_t));
  const std::size_t count = words.at(0);
  if (count > words.size()) {
    words.resize(count);
    file.read(spilled.offset, words.data(), count * sizeof(std::uint64_t));
  }
  return words;
}

}  // namespace

SpilledElement spill(SpillFile& file, const Element& element) {
  std::vector<Tensor> tensors(element.size());
  for (std::size_t i = 0; i < element.size(); ++i) {
    if (element[i].is_scalar()) continue;
    const Tensor& tensor = element[i].tensor();
    tensors[i] = tensor.dtype() == DType::bytes ? tensor : tensor.contiguous();
  }
  const Words words = describe(element, tensors);
  const Bytes head = words.size() * sizeof(std::uint64_t);
  Bytes length = head;
  for (const Tensor& tensor : tensors) length += tensor.defined() ? tensor.nbytes() : 0;
  SpilledElement spilled{file.take(length), length, element.nbytes()};
  try {
    file.write(spilled.offset, words.data(), head);
    write_contents(file, spilled.offset + head, tensors);
  } catch (...) {
    file.give(spilled.offset, length);
    throw;
  }
  return spilled;
}

Element unspill(const SpillFile& file, const SpilledElement& spilled, const Engine& engine,
                const TensorOptions& options) {
  const Words words = read_words(file, spilled);
  std::uint64_t at = spilled.offset + words[0] * sizeof(std::uint64_t);
  Element element;
  element.id = words.at(1);
  std::size_t word = 3;
  for (std::uint64_t left = words.at(2); left > 0; --left) {
    const auto dtype = static_cast<DType>(words.at(word++));
    const std::uint64_t kind = words.at(word++);
    if (kind == 0) {
      element.push_back(Value::from_bits(dtype, &words.at(word++)));
      continue;
    }
    std::vector<std::int64_t> extents;
    for (std::uint64_t d = 1; d < kind; ++d) {
      extents.push_back(static_cast<std::int64_t>(words.at(word++)));
    }
    const Shape shape(extents);
    if (dtype != DType::bytes) {
      Tensor tensor = Tensor::empty(shape, dtype, engine.device(), options);
      file.read(at, tensor.nbytes() == 0 ? nullptr : tensor.raw_mutable_data(), tensor.nbytes());
      at += tensor.nbytes();
      element.push_back(std::move(tensor));
      continue;
    }
    Bytes total = 0;
    const auto count = static_cast<std::size_t>(shape.elements());
    for (std::size_t s = 0; s < count; ++s) total += words.at(word + s);
    const Block texts =
        engine.device().arena().allocate(std::max<Bytes>(total, 1), options.account);
    file.read(at, texts.data(), total);
    at += total;
    const char* text = static_cast<const char*>(texts.data());
    std::vector<std::string_view> views;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t size = words.at(word++);
      views.emplace_back(text, size);
      text += size;
    }
    element.push_back(Tensor::from_strings(std::span<const std::string_view>(views), shape,
                                           engine.device(), options));
  }
  return element;
}

}  // namespace plimsoll::data
