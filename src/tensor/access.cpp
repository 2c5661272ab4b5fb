#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/tensor.h>

#include "tensor/copy.h"
#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {

void require_dtype(DType wanted, DType actual, const char* who) {
  if (wanted != actual) {
    throw InvalidArgument(
        fmt::format("[Tensor::{}] asked for {}, but the tensor is {}; cast it first", who,
                    dtype_name(wanted), dtype_name(actual)));
  }
}

void require_count(std::size_t count, const Shape& shape, const char* who) {
  if (static_cast<std::int64_t>(count) != shape.elements()) {
    throw InvalidArgument(fmt::format("[Tensor::{}] {} values for shape {} of {} elements", who,
                                      count, shape.to_string(), shape.elements()));
  }
}

void require_writable(const Storage& storage, const char* who) {
  if (storage.read_only()) {
    throw InvalidArgument(
        fmt::format("[Tensor::{}] \"{}\" is read-only; write to a clone()", who, storage.label()));
  }
}

void require_host(const Storage& storage, const char* who) {
  if (!storage.host_accessible()) {
    throw InvalidArgument(
        fmt::format("[Tensor::{}] \"{}\" is on {}; use copy_to, or to() a host device first", who,
                    storage.label(), storage.device().name()));
  }
}

/// Who has to copy between `storage` and the host.
Mover mover(const Storage& storage) {
  return {.device = storage.host_accessible() ? nullptr : &storage.device()};
}

/// Who has to copy from `from` to `to`, which was allocated for `stream` of its device.
Mover mover(const Storage& to, const Storage& from, StreamId stream) {
  if (to.host_accessible()) return mover(from);
  const bool same = !from.host_accessible() && &to.device().backend() == &from.device().backend() &&
                    to.device().ordinal() == from.device().ordinal();
  return {.device = &to.device(), .has_both = same, .stream = stream};
}

}  // namespace

Bytes Tensor::nbytes() const {
  const Rep& r = type_rep("nbytes");
  const std::int64_t count = r.shape.elements();
  if (r.dtype != DType::bytes) return static_cast<Bytes>(count) * dtype_size(r.dtype);
  Bytes sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += string_at(i).size();
  return sum;
}

const void* Tensor::raw_data() const { return rep("raw_data").address(); }

const void* Tensor::raw_data_on(StreamId stream) const {
  const Rep& r = rep("raw_data_on");
  const auto* base = static_cast<const std::byte*>(r.storage->data_on(stream));
  return base == nullptr ? nullptr : base + r.offset;
}

void* Tensor::raw_mutable_data() {
  const Rep& r = rep("raw_mutable_data");
  require_writable(*r.storage, "raw_mutable_data");
  return r.address();
}

const void* Tensor::host_data(DType dtype) const {
  const Rep& r = rep("data");
  require_dtype(dtype, r.dtype, "data");
  require_host(*r.storage, "data");
  return r.address();
}

void* Tensor::host_mutable_data(DType dtype) {
  const Rep& r = rep("mutable_data");
  require_dtype(dtype, r.dtype, "mutable_data");
  require_host(*r.storage, "mutable_data");
  require_writable(*r.storage, "mutable_data");
  return r.address();
}

void Tensor::copy_one(void* to, DType dtype) const {
  const Rep& r = rep("item");
  require_dtype(dtype, r.dtype, "item");
  if (r.shape.elements() != 1) {
    throw InvalidArgument(fmt::format("[Tensor::item] shape {} has {} elements, not one",
                                      r.shape.to_string(), r.shape.elements()));
  }
  device().copy(to, r.address(), dtype_size(dtype));
}

void Tensor::copy_to_host(void* to, std::size_t count, DType dtype) const {
  const Rep& r = rep("copy_to");
  require_dtype(dtype, r.dtype, "copy_to");
  require_count(count, r.shape, "copy_to");
  const auto dense = r.shape.contiguous_strides();
  copy_strided(mover(*r.storage), r.shape, dtype_size(dtype), {to, dense},
               {r.address(), r.stride_span()});
}

void Tensor::copy_from_host(const void* from, std::size_t count, DType dtype) {
  const Rep& r = rep("copy_from");
  require_dtype(dtype, r.dtype, "copy_from");
  require_count(count, r.shape, "copy_from");
  require_writable(*r.storage, "copy_from");
  const auto dense = r.shape.contiguous_strides();
  copy_strided(mover(*r.storage), r.shape, dtype_size(dtype), {r.address(), r.stride_span()},
               {const_cast<void*>(from), dense});
}

Tensor Tensor::contiguous() const {
  const Rep& r = type_rep("contiguous");
  return r.symbol != nullptr || is_contiguous() ? *this : clone();
}

Tensor Tensor::to(const Device& device) const {
  if (is_computed_later()) return *this;
  const Rep& r = rep("to");
  return to(device, {.tag = r.storage->tag(), .label = r.storage->label()});
}

Tensor Tensor::to(const Device& device, const TensorOptions& options) const {
  if (is_computed_later()) return *this;
  if (rep("to").storage->device() == device) return *this;
  return clone(device, options);
}

Tensor Tensor::clone() const {
  if (is_computed_later()) return *this;
  const Rep& r = rep("clone");
  return clone(device(), {.tag = r.storage->tag(), .label = r.storage->label()});
}

Tensor Tensor::clone(const Device& device, const TensorOptions& options) const {
  if (is_computed_later()) return *this;
  const Rep& r = rep("clone");
  if (r.dtype == DType::bytes) return clone_strings(device, options);
  const std::byte* from = r.address();  // throws before anything is allocated
  Tensor result = empty(r.shape, r.dtype, device, options);
  const Rep& to = *result.rep_;
  const Mover by = mover(*to.storage, *r.storage, options.stream);
  copy_strided(by, r.shape, dtype_size(r.dtype), {to.address(), to.stride_span()},
               {const_cast<std::byte*>(from), r.stride_span()});
  // Whoever writes or frees the original next need not know of the stream.
  if (by.stream != kHostStream) device.synchronize(by.stream);
  if (ViewListener* listener = ViewListener::current()) listener->on_copy(*this, result);
  return result;
}

}  // namespace plimsoll
