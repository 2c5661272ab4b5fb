#include <plimsoll/tensor/dlpack.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {

using dlpack::DLDataType;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

constexpr dlpack::DLPackVersion kVersion = {1, 0};

struct TypePair {
  DType dtype;
  DLDataType dl;
};

constexpr std::array kTypes = {
    TypePair{DType::f64, {dlpack::kDLFloat, 64, 1}},
    TypePair{DType::f32, {dlpack::kDLFloat, 32, 1}},
    TypePair{DType::f16, {dlpack::kDLFloat, 16, 1}},
    TypePair{DType::bf16, {dlpack::kDLBfloat, 16, 1}},
    TypePair{DType::i64, {dlpack::kDLInt, 64, 1}},
    TypePair{DType::i32, {dlpack::kDLInt, 32, 1}},
    TypePair{DType::i16, {dlpack::kDLInt, 16, 1}},
    TypePair{DType::i8, {dlpack::kDLInt, 8, 1}},
    TypePair{DType::u16, {dlpack::kDLUInt, 16, 1}},
    TypePair{DType::u8, {dlpack::kDLUInt, 8, 1}},
    TypePair{DType::boolean, {dlpack::kDLBool, 8, 1}},
};

/// An exported tensor with what keeps it valid.
template <typename Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};

  static void destroy(Managed* managed) {
    const std::unique_ptr<Export> owner(static_cast<Export*>(managed->manager_ctx));
  }
};

template <typename Managed>
std::unique_ptr<Export<Managed>> make_export(const Tensor& tensor) {
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypePair& pair) {
    return pair.dtype == tensor.dtype();
  });
  if (type == kTypes.end()) {
    throw InvalidArgument(
        fmt::format("[to_dlpack] DLPack has no dtype for {}", dtype_name(tensor.dtype())));
  }
  const int device_type = tensor.device().capabilities().dlpack_type;
  if (device_type == 0) {
    throw InvalidArgument(
        fmt::format("[to_dlpack] DLPack has no devices like {}; copy the tensor to "
                    "the host",
                    tensor.device().name()));
  }
  auto result = std::make_unique<Export<Managed>>();
  result->tensor = tensor;
  std::copy(tensor.shape().begin(), tensor.shape().end(), result->shape.begin());
  const auto strides = tensor.strides();
  std::copy(strides.begin(), strides.end(), result->strides.begin());
  DLTensor& dl = result->managed.dl_tensor;
  // The offset is already in the address: not every reader knows byte_offset.
  dl.data = const_cast<void*>(tensor.raw_data());
  dl.device = {static_cast<dlpack::DLDeviceType>(device_type), tensor.device().ordinal()};
  dl.ndim = tensor.rank();
  dl.dtype = type->dl;
  dl.shape = result->shape.data();
  dl.strides = result->strides.data();
  dl.byte_offset = 0;
  result->managed.manager_ctx = result.get();
  result->managed.deleter = Export<Managed>::destroy;
  return result;
}

DType import_dtype(const DLDataType& dl) {
  for (const TypePair& pair : kTypes) {
    if (pair.dl.code == dl.code && pair.dl.bits == dl.bits && dl.lanes == 1) return pair.dtype;
  }
  throw InvalidArgument(fmt::format("[from_dlpack] no dtype for code {}, {} bits, {} lanes",
                                    dl.code, dl.bits, dl.lanes));
}

void check_device(const dlpack::DLDevice& dl, const Device& device) {
  const bool host = dl.device_type == dlpack::kDLCPU || dl.device_type == dlpack::kDLCUDAHost;
  const Capabilities& here = device.capabilities();
  const bool matches = here.host_memory ? host
                                        : static_cast<int>(dl.device_type) == here.dlpack_type &&
                                              dl.device_id == device.ordinal();
  if (!matches) {
    throw InvalidArgument(
        fmt::format("[from_dlpack] the tensor is on DLPack device ({}, {}), not on {}",
                    static_cast<int>(dl.device_type), dl.device_id, device.name()));
  }
}

/// `release` is called by the storage's end only once this has returned.
Tensor import_tensor(const DLTensor& dl, bool read_only, std::function<void()> release,
                     const Device& device) {
  const DType dtype = import_dtype(dl.dtype);
  check_device(dl.device, device);
  if (dl.ndim < 0 || dl.ndim > kMaxRank || (dl.ndim > 0 && dl.shape == nullptr)) {
    throw InvalidArgument(fmt::format("[from_dlpack] {} dimensions{}; there are 0 to {}", dl.ndim,
                                      dl.shape == nullptr ? " without a shape" : "", kMaxRank));
  }
  const auto rank = static_cast<std::size_t>(dl.ndim);
  const Shape shape(std::span<const std::int64_t>(dl.shape, rank));
  std::array<std::int64_t, kMaxRank> strides = shape.contiguous_strides();
  if (dl.strides != nullptr) std::copy(dl.strides, dl.strides + rank, strides.begin());
  const std::span<const std::int64_t> stride_span(strides.data(), rank);
  const auto reach = extent_of(shape, stride_span, dtype);
  if (!reach) {
    throw InvalidArgument(fmt::format("[from_dlpack] {} with strides [{}] reaches too far",
                                      shape.to_string(), fmt::join(stride_span, ",")));
  }

  const auto base = reinterpret_cast<std::uintptr_t>(dl.data);
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  if (reach->after != 0 &&
      (base == 0 || __builtin_add_overflow(base, dl.byte_offset, &first) || first < reach->before ||
       __builtin_add_overflow(first, reach->after, &end))) {
    throw InvalidArgument(fmt::format("[from_dlpack] {} at address {:#x} + {} is not memory",
                                      shape.to_string(), base, dl.byte_offset));
  }
  if (first % dtype_size(dtype) != 0) {
    throw InvalidArgument(
        fmt::format("[from_dlpack] address {:#x} is not aligned for {}", first, dtype_name(dtype)));
  }
  void* start = nullptr;
  if (reach->after != 0) {
    start = static_cast<std::byte*>(dl.data) +
            static_cast<std::ptrdiff_t>(dl.byte_offset - reach->before);
  }
  // Should anything below throw, the tensor is still the caller's.
  const auto armed = std::make_shared<bool>(false);
  auto storage = Storage::adopt(
      device, start, reach->before + reach->after,
      [armed, release = std::move(release)] {
        if (*armed) release();
      },
      read_only, "dlpack");
  Tensor result =
      Tensor::from_storage(std::move(storage), dtype, shape, stride_span, reach->before);
  *armed = true;
  return result;
}

template <typename Managed>
Tensor import_managed(Managed* managed, bool read_only, const Device& device) {
  return import_tensor(
      managed->dl_tensor, read_only, [managed] { dlpack::CallDeleter{}(managed); }, device);
}

}  // namespace

DLPackPtr to_dlpack(const Tensor& tensor) {
  auto result = make_export<DLManagedTensorVersioned>(tensor);
  result->managed.version = kVersion;
  result->managed.flags = tensor.storage()->read_only() ? dlpack::kFlagReadOnly : 0;
  return DLPackPtr(&result.release()->managed);
}

LegacyDLPackPtr to_dlpack_legacy(const Tensor& tensor) {
  if (tensor.storage()->read_only()) {
    throw InvalidArgument(
        fmt::format("[to_dlpack_legacy] \"{}\" is read-only, which only the versioned form can say",
                    tensor.storage()->label()));
  }
  return LegacyDLPackPtr(&make_export<DLManagedTensor>(tensor).release()->managed);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, const Device& device) {
  if (managed == nullptr) throw InvalidArgument("[from_dlpack] a null pointer");
  if (managed->version.major != kVersion.major) {
    throw InvalidArgument(
        fmt::format("[from_dlpack] DLPack version {}.{}; this library reads version {}",
                    managed->version.major, managed->version.minor, kVersion.major));
  }
  return import_managed(managed, (managed->flags & dlpack::kFlagReadOnly) != 0, device);
}

Tensor from_dlpack(DLManagedTensor* managed, const Device& device) {
  if (managed == nullptr) throw InvalidArgument("[from_dlpack] a null pointer");
  return import_managed(managed, false, device);
}

}  // namespace plimsoll
