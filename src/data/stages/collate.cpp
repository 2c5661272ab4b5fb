#include "data/stages/collate.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"

namespace plimsoll::data {
namespace {

/// Writes `count` copies of the `size` bytes at `value`.
void fill(std::byte* to, std::size_t count, const void* value, std::size_t size) {
  if (value == nullptr) {
    std::memset(to, 0, count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * size, value, size);
}

/// Calls copy(to, from, count) for each run of items of a row-major array of shape `inner` that
/// lies without gaps in the corner of one of shape `outer`. Positions are in items.
template <typename Copy>
void for_each_run(const Shape& outer, const Shape& inner, const Copy& copy) {
  if (inner.elements() == 0) return;
  // Trailing dimensions that agree belong to the run.
  int split = inner.rank();
  std::int64_t run = 1;
  while (split > 0) {
    --split;
    run *= inner[split];
    if (inner[split] != outer[split]) break;
  }
  const auto outer_strides = outer.contiguous_strides();
  const std::int64_t runs = inner.elements() / run;
  for (std::int64_t i = 0; i < runs; ++i) {
    std::int64_t rest = i;
    std::int64_t to = 0;
    for (int d = split - 1; d >= 0; --d) {
      to += rest % inner[d] * outer_strides[static_cast<std::size_t>(d)];
      rest /= inner[d];
    }
    copy(to, i * run, run);
  }
}

}  // namespace

const std::vector<std::int64_t>* Collator::target(std::size_t c) const {
  return padding_ && !padding_->shapes.empty() ? &padding_->shapes[c] : nullptr;
}

const Value* Collator::filling(std::size_t c) const {
  if (!padding_ || padding_->values.empty()) return nullptr;
  return &padding_->values[padding_->values.size() == 1 ? 0 : c];
}

void Collator::check(const Element& first, const Element& row) const {
  if (row.size() != first.size()) {
    throw DataError(
        fmt::format("[{}] elements have {} and {} components", who_, first.size(), row.size()));
  }
  const auto counts = [&](std::size_t given) { return given == 0 || given == row.size(); };
  if (padding_ && (!counts(padding_->shapes.size()) ||
                   (padding_->values.size() != 1 && !counts(padding_->values.size())))) {
    throw DataError(fmt::format("[{}] {} shapes and {} values for {}, which has {} components",
                                who_, padding_->shapes.size(), padding_->values.size(),
                                row.to_string(), row.size()));
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    const TensorSpec mine = TensorSpec::of(row[c]);
    const TensorSpec theirs = TensorSpec::of(first[c]);
    const bool together = mine.dtype == theirs.dtype && mine.dims->size() == theirs.dims->size();
    if (!together || (!padding_ && !(mine == theirs))) {
      throw DataError(fmt::format(
          "[{}] elements have component {} as {} and {}; {}", who_, c, theirs.to_string(),
          mine.to_string(),
          together ? "use padded_batch, or resize first" : "give all of them one dtype and rank"));
    }
    if (padding_) check_padding(row, c);
  }
}

void Collator::check_padding(const Element& row, std::size_t c) const {
  const TensorSpec mine = TensorSpec::of(row[c]);
  const Value* const value = filling(c);
  if (value != nullptr && value->dtype() != mine.dtype) {
    throw DataError(
        fmt::format("[{}] component {} is {}, and its padding value {}; give one of "
                    "its dtype",
                    who_, c, mine.to_string(), dtype_name(value->dtype())));
  }
  const auto* const dims = target(c);
  if (dims == nullptr) return;
  bool fits = dims->size() == mine.dims->size();
  for (std::size_t d = 0; fits && d < dims->size(); ++d) {
    fits = (*dims)[d] == kAnyExtent || (*mine.dims)[d] <= (*dims)[d];
  }
  if (fits) return;
  throw DataError(fmt::format(
      "[{}] element {} has component {} as {}, which cannot be padded to {}; give a "
      "larger shape, or cut it first",
      who_, row.to_string(), c, mine.to_string(), TensorSpec{mine.dtype, *dims}.to_string()));
}

Shape Collator::row_shape(const std::vector<const Element*>& rows, std::size_t c) const {
  Shape shape = (*rows.front())[c].shape();
  if (!padding_) return shape;
  const auto* const dims = target(c);
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t extent = dims != nullptr ? (*dims)[static_cast<std::size_t>(d)] : kAnyExtent;
    if (extent == kAnyExtent) {
      for (const Element* row : rows) extent = std::max(extent, (*row)[c].shape()[d]);
    }
    shape = shape.with_dim(d, extent);
  }
  return shape;
}

Bytes Collator::nbytes(const std::vector<const Element*>& rows) const {
  Bytes total = 0;
  for (std::size_t c = 0; c < rows.front()->size(); ++c) {
    total += static_cast<Bytes>(row_shape(rows, c).elements()) *
             dtype_size((*rows.front())[c].dtype()) * rows.size();
  }
  return total;
}

Element Collator::collate(const std::vector<const Element*>& rows, const Engine& engine,
                          const TensorOptions& options) const {
  Element batch;
  for (std::size_t c = 0; c < rows.front()->size(); ++c) {
    const bool text = (*rows.front())[c].dtype() == DType::bytes;
    batch.push_back(text ? strings(rows, c, engine, options) : numbers(rows, c, engine, options));
  }
  return batch;
}

Value Collator::numbers(const std::vector<const Element*>& rows, std::size_t c,
                        const Engine& engine, const TensorOptions& options) const {
  const Shape shape = row_shape(rows, c);
  const DType dtype = (*rows.front())[c].dtype();
  const std::size_t size = dtype_size(dtype);
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor batch = Tensor::empty(shape.with_inserted(0, count), dtype, engine.device(), options);
  auto* at = static_cast<std::byte*>(batch.raw_mutable_data());
  const auto items = static_cast<std::size_t>(shape.elements());
  if (items == 0) return Value(std::move(batch));
  const Value* const blank = filling(c);
  for (const Element* row : rows) {
    const Value& value = (*row)[c];
    if (value.is_scalar()) {
      std::memcpy(at, &value.bits(), size);
    } else {
      const Tensor tensor = value.tensor().contiguous();
      if (!(tensor.shape() == shape)) {
        fill(at, items, blank != nullptr ? &blank->bits() : nullptr, size);
      }
      const auto* const from = static_cast<const std::byte*>(tensor.raw_data());
      for_each_run(shape, tensor.shape(),
                   [&](std::int64_t to, std::int64_t first, std::int64_t run) {
                     std::memcpy(at + static_cast<std::size_t>(to) * size,
                                 from + static_cast<std::size_t>(first) * size,
                                 static_cast<std::size_t>(run) * size);
                   });
    }
    at += items * size;
  }
  return Value(std::move(batch));
}

Value Collator::strings(const std::vector<const Element*>& rows, std::size_t c,
                        const Engine& engine, const TensorOptions& options) const {
  const Shape shape = row_shape(rows, c);
  const auto items = static_cast<std::size_t>(shape.elements());
  const Value* const blank = filling(c);
  const Charge charge =
      engine.budget().charge(Tag::input, who_, items * rows.size() * sizeof(std::string_view));
  std::vector<std::string_view> texts(items * rows.size(), blank != nullptr ? blank->text() : "");
  auto at = texts.begin();
  for (const Element* row : rows) {
    const Tensor& tensor = (*row)[c].tensor();
    for_each_run(shape, tensor.shape(), [&](std::int64_t to, std::int64_t first, std::int64_t run) {
      for (std::int64_t i = 0; i < run; ++i) at[to + i] = tensor.string_at(first + i);
    });
    at += static_cast<std::ptrdiff_t>(items);
  }
  return Value(Tensor::from_strings(texts,
                                    shape.with_inserted(0, static_cast<std::int64_t>(rows.size())),
                                    engine.device(), options));
}

}  // namespace plimsoll::data
