#pragma once

#include <cstdint>
#include <memory>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll {

/// The binary interface of DLPack 1.0, by which tensors cross between libraries without a copy.
/// These are layouts, in a namespace of their own: a pointer to one of them and a pointer to its
/// namesake in another library's headers mean the same.
namespace dlpack {

enum DLDeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
};

enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
};

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null means row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t kFlagReadOnly = 1;
inline constexpr std::uint64_t kFlagIsCopied = 2;

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

struct CallDeleter {
  template <typename Managed>
  void operator()(Managed* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

}  // namespace dlpack

using DLPackPtr = std::unique_ptr<dlpack::DLManagedTensorVersioned, dlpack::CallDeleter>;
using LegacyDLPackPtr = std::unique_ptr<dlpack::DLManagedTensor, dlpack::CallDeleter>;

/// A tensor for another library, without a copy. It keeps the storage alive until its deleter is
/// called; release() the pointer to hand it over. Closing the session that holds the memory takes
/// it away from the other library, too.
///
/// Work that still writes the tensor on a stream must be waited for by whoever hands it over.
/// Throws InvalidArgument for DType::bytes, and for read-only storage in the legacy form, which
/// cannot say so. Thread-safe.
DLPackPtr to_dlpack(const Tensor& tensor);
LegacyDLPackPtr to_dlpack_legacy(const Tensor& tensor);

/// Another library's tensor, without a copy. `device` is the one that its memory is on; the memory
/// is not charged there. On return the tensor owns `managed`, whose deleter is called once, with
/// the last reference to the storage and from that thread. Throws InvalidArgument for dtypes,
/// devices, versions, shapes and strides that cannot be; `managed` then stays the caller's.
Tensor from_dlpack(dlpack::DLManagedTensorVersioned* managed, const Device& device);
Tensor from_dlpack(dlpack::DLManagedTensor* managed, const Device& device);

}  // namespace plimsoll
