#include "data/cache/element_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/records/crc32c.h"

namespace plimsoll::data {
namespace {

constexpr Bytes kWord = sizeof(std::uint64_t);

struct Head {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  std::uint32_t words = 0;
};

[[noreturn]] void broken(const char* what) { throw DataError(what); }

Head head_of(const std::byte* bytes) {
  Head head;
  std::memcpy(&head.bytes, bytes, 8);
  std::memcpy(&head.crc, bytes + 8, 4);
  std::memcpy(&head.words, bytes + 12, 4);
  if (head.words < 2 || head.words > head.bytes / kWord) {
    broken("an element's description exceeds it");
  }
  return head;
}

/// The words of a description, taken one by one.
class Words {
 public:
  Words(const std::byte* words, std::uint64_t count) : at_(words), left_(count) {}
  std::uint64_t next() {
    if (left_ == 0) broken("an element's description is cut off");
    --left_;
    std::uint64_t word;
    std::memcpy(&word, at_, sizeof(word));
    at_ += sizeof(word);
    return word;
  }
  std::uint64_t left() const { return left_; }

 private:
  const std::byte* at_;
  std::uint64_t left_;
};

/// A shape of at most `most` elements.
Shape shape_of(Words& words, std::uint64_t rank, std::uint64_t most) {
  if (rank > static_cast<std::uint64_t>(kMaxRank)) broken("an element has too many dimensions");
  std::vector<std::int64_t> extents;
  std::uint64_t total = 1;
  for (; rank > 0; --rank) {
    const std::uint64_t extent = words.next();
    if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
        __builtin_mul_overflow(total, std::max<std::uint64_t>(extent, 1), &total) ||
        total > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / kWord) {
      broken("an element's shape is too large");
    }
    extents.push_back(static_cast<std::int64_t>(extent));
  }
  const Shape shape{std::span<const std::int64_t>(extents)};
  if (static_cast<std::uint64_t>(shape.elements()) > most) {
    broken("an element's shape exceeds its contents");
  }
  return shape;
}

Value strings_of(Words& words, const Shape& shape, std::span<const std::byte>& contents,
                 const Device& device, const TensorOptions& options) {
  const auto count = static_cast<std::size_t>(shape.elements());
  if (count > words.left()) broken("an element's description is cut off");
  const Block table = device.arena().allocate(
      std::max<std::size_t>(count, 1) * sizeof(std::string_view), options.account);
  auto* const views = static_cast<std::string_view*>(table.data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = words.next();
    if (length > contents.size()) broken("an element's byte strings are cut off");
    new (views + i) std::string_view(reinterpret_cast<const char*>(contents.data()),
                                     static_cast<std::size_t>(length));
    contents = contents.subspan(static_cast<std::size_t>(length));
  }
  return Tensor::from_strings(std::span<const std::string_view>(views, count), shape, device,
                              options);
}

}  // namespace

Bytes write_element(OutputFile& file, const Element& element) {
  std::vector<std::uint64_t> words{element.id, element.size()};
  std::vector<Tensor> tensors;
  Bytes contents = 0;
  for (const Value& value : element) {
    words.push_back(static_cast<std::uint64_t>(value.dtype()));
    if (value.is_scalar()) {
      words.push_back(0);
      words.push_back(value.bits());
      continue;
    }
    const bool strings = value.dtype() == DType::bytes;
    tensors.push_back(strings ? value.tensor() : value.tensor().contiguous());
    const Tensor& tensor = tensors.back();
    contents += tensor.nbytes();
    words.push_back(static_cast<std::uint64_t>(tensor.rank()) + 1);
    for (const std::int64_t extent : tensor.shape()) {
      words.push_back(static_cast<std::uint64_t>(extent));
    }
    for (std::int64_t i = 0; strings && i < tensor.elements(); ++i) {
      words.push_back(tensor.string_at(i).size());
    }
  }
  const auto for_each = [&](auto each) {
    for (const Tensor& tensor : tensors) {
      if (tensor.dtype() != DType::bytes) {
        if (tensor.nbytes() > 0) each(tensor.raw_data(), tensor.nbytes());
        continue;
      }
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        each(tensor.string_at(i).data(), tensor.string_at(i).size());
      }
    }
  };
  const std::uint64_t bytes = words.size() * kWord + contents;
  const auto count = static_cast<std::uint32_t>(words.size());
  std::uint32_t crc = crc32c(&count, sizeof(count));
  crc = crc32c(words.data(), words.size() * kWord, crc);
  for_each([&](const void* data, Bytes size) { crc = crc32c(data, size, crc); });
  file.write(&bytes, sizeof(bytes));
  file.write(&crc, sizeof(crc));
  file.write(&count, sizeof(count));
  file.write(words.data(), words.size() * kWord);
  for_each([&](const void* data, Bytes size) { file.write(data, size); });
  return kElementHead + bytes;
}

Bytes element_bytes(std::span<const std::byte, kElementHead> head, Bytes most) {
  const Head found = head_of(head.data());
  if (most < kElementHead || found.bytes > most - kElementHead) {
    broken("an element exceeds the file");
  }
  return kElementHead + found.bytes;
}

Element decode_element(std::span<const std::byte> bytes, const Device& device,
                       const TensorOptions& options) {
  if (bytes.size() < kElementHead) broken("an element is cut off");
  const Head head = head_of(bytes.data());
  if (head.bytes != bytes.size() - kElementHead) broken("an element is cut off");
  const std::byte* const body = bytes.data() + kElementHead;
  if (crc32c(body, head.bytes, crc32c(&head.words, sizeof(head.words))) != head.crc)
    broken("an element does not match its checksum");
  Words words(body, head.words);
  auto contents = bytes.subspan(kElementHead + head.words * kWord);
  Element element;
  element.id = words.next();
  for (std::uint64_t values = words.next(); values > 0; --values) {
    const std::uint64_t type = words.next();
    if (type >= kDTypeCount) broken("an element has an unknown dtype");
    const auto dtype = static_cast<DType>(type);
    const std::uint64_t kind = words.next();
    if (kind == 0) {
      if (dtype == DType::bytes) broken("an element has a scalar byte string");
      const std::uint64_t bits = words.next();
      element.push_back(Value::from_bits(dtype, &bits));
      continue;
    }
    if (dtype == DType::bytes) {
      const Shape shape = shape_of(words, kind - 1, head.words);
      element.push_back(strings_of(words, shape, contents, device, options));
      continue;
    }
    const Shape shape = shape_of(words, kind - 1, contents.size() / dtype_size(dtype));
    Tensor tensor = Tensor::empty(shape, dtype, device, options);
    const Bytes size = tensor.nbytes();
    if (size > 0) std::memcpy(tensor.raw_mutable_data(), contents.data(), size);
    contents = contents.subspan(size);
    element.push_back(std::move(tensor));
  }
  if (!contents.empty() || words.left() != 0) broken("an element has bytes left over");
  return element;
}

Bytes outline_bytes(std::span<const std::byte, kElementHead> head) {
  return kElementHead + head_of(head.data()).words * kWord;
}

std::optional<ElementOutline> outline_of(std::span<const std::byte> bytes, Bytes total) {
  const Head head = head_of(bytes.data());
  ElementOutline outline;
  outline.contents = kElementHead + head.words * kWord;
  outline.checksum = head.crc;
  if (bytes.size() < outline.contents || total < outline.contents) broken("an element is cut off");
  outline.crc = crc32c(bytes.data() + kElementHead, head.words * kWord,
                       crc32c(&head.words, sizeof(head.words)));
  Words words(bytes.data() + kElementHead, head.words);
  Bytes left = total - outline.contents;
  outline.id = words.next();
  for (std::uint64_t values = words.next(); values > 0; --values) {
    ElementOutline::Part part;
    const std::uint64_t type = words.next();
    if (type >= kDTypeCount) broken("an element has an unknown dtype");
    part.dtype = static_cast<DType>(type);
    if (part.dtype == DType::bytes) return std::nullopt;
    const std::uint64_t kind = words.next();
    part.scalar = kind == 0;
    if (part.scalar) {
      part.bits = words.next();
    } else {
      part.shape = shape_of(words, kind - 1, left / dtype_size(part.dtype));
      part.bytes = static_cast<Bytes>(part.shape.elements()) * dtype_size(part.dtype);
      left -= part.bytes;
    }
    outline.parts.push_back(part);
  }
  if (left != 0 || words.left() != 0) broken("an element has bytes left over");
  return outline;
}

}  // namespace plimsoll::data
