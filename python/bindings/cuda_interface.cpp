// __cuda_array_interface__: memory of a GPU for CuPy, Numba and others that know no DLPack.
#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>
#include <plimsoll/tensor/storage.h>
#include <plimsoll/tensor/tensor.h>

#include "bind_parts.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// As NumPy writes it; empty for those that it has not.
std::string type_text(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::i16:
      return "<i2";
    case DType::u16:
      return "<u2";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::boolean:
      return "|b1";
    default:
      return {};
  }
}

}  // namespace

void bind_cuda_interface(nb::module_& m) {
  m.def(
      "_cuda_array_interface",
      [](nb::handle x) -> nb::object {
        Tensor tensor = as_tensor(x, {"__cuda_array_interface__", "x"});
        if (tensor.device().name().rfind("cuda", 0) != 0) return nb::none();
        const std::string type = type_text(tensor.dtype());
        if (type.empty()) {
          throw InvalidArgument("[__cuda_array_interface__] NumPy has no " +
                                std::string(dtype_name(tensor.dtype())) +
                                "; use x.to(pm.f32), or DLPack");
        }
        const auto size = static_cast<std::int64_t>(dtype_size(tensor.dtype()));
        nb::list strides;
        for (const std::int64_t each : tensor.strides()) strides.append(each * size);
        const bool read_only = tensor.storage()->read_only();
        const void* address = nullptr;
        {
          // What is still computed is waited for: there is no stream to hand over.
          const Unlocked unlocked;
          address = read_only ? tensor.raw_data() : tensor.raw_mutable_data();
        }
        nb::dict dict;
        dict["shape"] = shape_tuple(tensor.shape());
        dict["typestr"] = type;
        dict["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(address), read_only);
        dict["strides"] = nb::tuple(strides);
        dict["stream"] = nb::none();
        dict["version"] = 3;
        return dict;
      },
      nb::arg("x"),
      nb::sig("def _cuda_array_interface(x: Tensor) -> dict[str, typing.Any] | None"));
}

}  // namespace plimsoll::python
