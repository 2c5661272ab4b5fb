#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/tensor.h>

#include "tensor/tensor_rep.h"

namespace plimsoll {

// Layout of DType::bytes: a table of one offset per element and one more, then the contents.
// Element k is [table[k], table[k + 1]), counted from the start of the storage. A view is a view of
// the table; the entry after any of its elements is still there.

/// `at(i)` is called twice for each of `count` elements, so that nothing but the result is needed.
template <typename At>
Tensor Tensor::make_strings(std::size_t count, At at, const Shape& shape, const Device& device,
                            const TensorOptions& options) {
  if (!device.capabilities().host_memory) {
    throw InvalidArgument(fmt::format(
        "[Tensor::from_strings] dtype bytes is for the host only, not for {}", device.name()));
  }
  if (shape.elements() != static_cast<std::int64_t>(count)) {
    throw InvalidArgument(
        fmt::format("[Tensor::from_strings] {} values for shape {} of {} elements", count,
                    shape.to_string(), shape.elements()));
  }
  Bytes position = (count + 1) * sizeof(std::uint64_t);
  Bytes total = position;
  for (std::size_t i = 0; i < count; ++i) total += at(i).size();
  auto storage =
      Storage::allocate(device, total, options.tag, options.label, options.stream, options.account);
  auto* base = static_cast<std::byte*>(storage->data());
  auto* table = reinterpret_cast<std::uint64_t*>(base);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view value = at(i);
    table[i] = position;
    if (!value.empty()) std::memcpy(base + position, value.data(), value.size());
    position += value.size();
  }
  table[count] = position;
  return Tensor(std::make_shared<Rep>(Rep{.storage = std::move(storage),
                                          .dtype = DType::bytes,
                                          .shape = shape,
                                          .strides = shape.contiguous_strides()}));
}

Tensor Tensor::from_strings(std::span<const std::string_view> values, const Shape& shape,
                            const Device& device, const TensorOptions& options) {
  return make_strings(
      values.size(), [&](std::size_t i) { return values[i]; }, shape, device, options);
}

Tensor Tensor::from_strings(std::span<const std::string> values, const Shape& shape,
                            const Device& device, const TensorOptions& options) {
  return make_strings(
      values.size(), [&](std::size_t i) { return std::string_view(values[i]); }, shape, device,
      options);
}

Tensor Tensor::from_strings(std::initializer_list<std::string_view> values, const Shape& shape,
                            const Device& device, const TensorOptions& options) {
  return from_strings(std::span<const std::string_view>(values.begin(), values.size()), shape,
                      device, options);
}

Tensor Tensor::clone_strings(const Device& device, const TensorOptions& options) const {
  return make_strings(
      static_cast<std::size_t>(elements()),
      [&](std::size_t i) { return string_at(static_cast<std::int64_t>(i)); }, shape(), device,
      options);
}

std::string_view Tensor::string_at(std::int64_t index) const {
  const Rep& r = rep("string_at");
  if (r.dtype != DType::bytes) {
    throw InvalidArgument(
        fmt::format("[Tensor::string_at] the tensor is {}, not bytes", dtype_name(r.dtype)));
  }
  const std::int64_t count = r.shape.elements();
  if (index < -count || index >= count) {
    throw InvalidArgument(fmt::format("[Tensor::string_at] no element {} in {} of {} elements",
                                      index, r.shape.to_string(), count));
  }
  std::int64_t rest = index < 0 ? index + count : index;
  std::int64_t at = 0;
  for (int i = r.shape.rank() - 1; i >= 0; --i) {
    at += rest % r.shape[i] * r.strides[static_cast<std::size_t>(i)];
    rest /= r.shape[i];
  }
  const auto* base = static_cast<const char*>(r.storage->data());
  const auto* entry = reinterpret_cast<const std::uint64_t*>(base + r.offset) + at;
  return {base + entry[0], entry[1] - entry[0]};
}

}  // namespace plimsoll
