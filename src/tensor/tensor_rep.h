#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll {

/// A number no other tensor of this process has.
std::uint64_t next_tensor_id();

/// What a handle points to; never changes. Has storage or a symbol.
struct Tensor::Rep {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<const Symbol> symbol = nullptr;
  std::uint64_t id = next_tensor_id();
  DType dtype = DType::f32;
  Shape shape;
  std::array<std::int64_t, kMaxRank> strides{};
  Bytes offset = 0;  ///< of the first element in the storage

  std::span<const std::int64_t> stride_span() const {
    return {strides.data(), static_cast<std::size_t>(shape.rank())};
  }
  /// Address of the first element; null if there are none. Throws Error if the memory is gone.
  std::byte* address() const {
    auto* base = static_cast<std::byte*>(storage->data());
    return base == nullptr ? nullptr : base + offset;
  }
};

/// Distance between neighbours in memory; for DType::bytes that of the offset table's entries.
inline Bytes item_size(DType dtype) {
  return dtype == DType::bytes ? sizeof(std::uint64_t) : dtype_size(dtype);
}

/// The bytes that elements touch before and after the address of the first one.
struct Extent {
  Bytes before = 0;
  Bytes after = 0;
};

/// Both are 0 if there are no elements; nullopt if they do not fit in 63 bits.
std::optional<Extent> extent_of(const Shape& shape, std::span<const std::int64_t> strides,
                                DType dtype);

/// Bytes of `shape` in row-major order. InvalidArgument if that does not fit in 63 bits.
Bytes dense_bytes(const Shape& shape, DType dtype);

}  // namespace plimsoll
