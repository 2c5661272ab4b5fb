#include <plimsoll/tensor/tensor.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {

void require_fixed_size(DType dtype, const char* who) {
  if (dtype == DType::bytes) {
    throw InvalidArgument(
        fmt::format("[{}] elements of dtype bytes have no fixed size; use from_strings", who));
  }
}

/// For byte strings the storage must have their table of offsets, see strings.cpp.
void require_table(const Storage& storage, const Shape& shape,
                   std::span<const std::int64_t> strides, Bytes offset) {
  const Bytes size = storage.size();
  const auto entries = static_cast<Bytes>(shape.elements()) + 1;
  bool fits = strides.empty() && storage.host_accessible() && offset <= size &&
              offset % sizeof(std::uint64_t) == 0 &&
              entries <= (size - offset) / sizeof(std::uint64_t);
  if (fits) {
    const auto* const base = static_cast<const std::byte*>(storage.data());
    const auto* const table = reinterpret_cast<const std::uint64_t*>(base + offset);
    fits = table[entries - 1] <= size && std::is_sorted(table, table + entries);
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("[Tensor::from_storage] no table of {} byte strings at byte {} of {}; use "
                    "from_strings",
                    shape.elements(), offset, size));
  }
}

}  // namespace

std::optional<Extent> extent_of(const Shape& shape, std::span<const std::int64_t> strides,
                                DType dtype) {
  if (shape.elements() == 0) return Extent{};
  const auto size = static_cast<std::int64_t>(item_size(dtype));
  std::int64_t low = 0;
  std::int64_t high = size;
  for (int i = 0; i < shape.rank(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[static_cast<std::size_t>(i)], &reach) ||
        __builtin_mul_overflow(reach, size, &reach)) {
      return std::nullopt;
    }
    std::int64_t& side = reach < 0 ? low : high;
    if (__builtin_add_overflow(side, reach, &side)) return std::nullopt;
  }
  // Unsigned, where the negation of the lowest value is defined.
  return Extent{Bytes{0} - static_cast<Bytes>(low), static_cast<Bytes>(high)};
}

Bytes dense_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements(), static_cast<std::int64_t>(item_size(dtype)),
                             &bytes)) {
    throw InvalidArgument(fmt::format("[Tensor] {} of {} takes more bytes than fit in 63 bits",
                                      shape.to_string(), dtype_name(dtype)));
  }
  return static_cast<Bytes>(bytes);
}

const Tensor::Rep& Tensor::type_rep(const char* who) const {
  if (rep_ == nullptr) throw InvalidArgument(fmt::format("[Tensor::{}] undefined tensor", who));
  return *rep_;
}

const Tensor::Rep& Tensor::rep(const char* who) const {
  const Rep& r = type_rep(who);
  if (r.symbol != nullptr) {
    throw InvalidArgument(
        fmt::format("[Tensor::{}] {} {} has no data; look at values outside the trace, and use ops "
                    "on it within",
                    who, r.symbol->describe(), TensorType{r.dtype, r.shape}.to_string()));
  }
  return r;
}

Tensor Tensor::recorded_view(const ViewOf& view) const {
  ViewListener* const listener = ViewListener::current();
  return listener != nullptr ? listener->on_view(*this, view) : Tensor();
}

bool Tensor::is_computed_later() const {
  const ViewListener* const listener = ViewListener::current();
  return is_symbolic() && listener != nullptr && listener->computes(*this);
}

Tensor Tensor::symbolic(const TensorType& type, std::shared_ptr<const Symbol> symbol) {
  if (symbol == nullptr) throw InvalidArgument("[Tensor::symbolic] no symbol");
  return Tensor(std::make_shared<Rep>(Rep{.storage = nullptr,
                                          .symbol = std::move(symbol),
                                          .dtype = type.dtype,
                                          .shape = type.shape,
                                          .strides = type.shape.contiguous_strides()}));
}

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device,
                     const TensorOptions& options) {
  require_fixed_size(dtype, "Tensor::empty");
  const Bytes bytes = dense_bytes(shape, dtype);
  return Tensor(std::make_shared<Rep>(
      Rep{.storage = Storage::allocate(device, bytes, options.tag, options.label, options.stream,
                                       options.account),
          .dtype = dtype,
          .shape = shape,
          .strides = shape.contiguous_strides()}));
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, const Device& device,
                     const TensorOptions& options) {
  Tensor result = empty(shape, dtype, device, options);
  if (result.nbytes() == 0) return result;
  device.fill_zero(result.raw_mutable_data(), result.nbytes(), options.stream);
  if (options.stream != kHostStream) {
    result.rep_->storage->set_arrival(device.fence(options.stream));
  }
  return result;
}

Tensor Tensor::from_host(const void* values, std::size_t count, DType dtype, const Shape& shape,
                         const Device& device, const TensorOptions& options) {
  if (shape.elements() != static_cast<std::int64_t>(count)) {
    throw InvalidArgument(fmt::format("[Tensor::from_values] {} values for shape {} of {} elements",
                                      count, shape.to_string(), shape.elements()));
  }
  Tensor result = empty(shape, dtype, device, options);
  if (count == 0) return result;
  device.copy(result.raw_mutable_data(), values, result.nbytes(), options.stream);
  // The caller's values may be gone after this.
  if (options.stream != kHostStream) device.synchronize(options.stream);
  return result;
}

Tensor Tensor::from_storage(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape,
                            std::span<const std::int64_t> strides, Bytes offset) {
  constexpr const char* kWho = "Tensor::from_storage";
  if (storage == nullptr) throw InvalidArgument(fmt::format("[{}] no storage", kWho));
  if (dtype == DType::bytes) require_table(*storage, shape, strides, offset);
  Rep rep{.storage = std::move(storage),
          .dtype = dtype,
          .shape = shape,
          .strides = shape.contiguous_strides(),
          .offset = offset};
  if (!strides.empty() && strides.size() != static_cast<std::size_t>(shape.rank())) {
    throw InvalidArgument(
        fmt::format("[{}] {} strides for shape {}", kWho, strides.size(), shape.to_string()));
  }
  std::copy(strides.begin(), strides.end(), rep.strides.begin());
  if (offset % item_size(dtype) != 0) {
    throw InvalidArgument(
        fmt::format("[{}] an offset of {} bytes is not a multiple of the {} of {}", kWho, offset,
                    item_size(dtype), dtype_name(dtype)));
  }
  const Bytes size = rep.storage->size();
  dense_bytes(shape, dtype);
  const auto extent = extent_of(shape, rep.stride_span(), dtype);
  const bool fits =
      offset <= size && extent && extent->before <= offset && extent->after <= size - offset;
  if (!fits) {
    throw InvalidArgument(fmt::format(
        "[{}] {} of {} with strides [{}] at byte {} does not lie within {} bytes", kWho,
        shape.to_string(), dtype_name(dtype), fmt::join(rep.stride_span(), ","), offset, size));
  }
  return Tensor(std::make_shared<Rep>(std::move(rep)));
}

std::uint64_t Tensor::id() const { return type_rep("id").id; }
const std::shared_ptr<const Symbol>& Tensor::symbol() const { return type_rep("symbol").symbol; }
DType Tensor::dtype() const { return type_rep("dtype").dtype; }
const Shape& Tensor::shape() const { return type_rep("shape").shape; }
std::span<const std::int64_t> Tensor::strides() const { return type_rep("strides").stride_span(); }
const Device& Tensor::device() const { return rep("device").storage->device(); }
const std::shared_ptr<Storage>& Tensor::storage() const { return rep("storage").storage; }
Bytes Tensor::offset() const { return rep("offset").offset; }

bool Tensor::is_contiguous() const {
  const Rep& r = type_rep("is_contiguous");
  if (r.shape.elements() == 0) return true;
  const auto dense = r.shape.contiguous_strides();
  for (int i = 0; i < r.shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (r.shape[i] != 1 && r.strides[at] != dense[at]) return false;
  }
  return true;
}

Tensor Tensor::view(const Shape& shape, std::span<const std::int64_t> strides, Bytes offset) const {
  Rep result{.storage = rep_->storage, .dtype = rep_->dtype, .shape = shape, .offset = offset};
  std::copy(strides.begin(), strides.end(), result.strides.begin());
  return Tensor(std::make_shared<Rep>(std::move(result)));
}

}  // namespace plimsoll
