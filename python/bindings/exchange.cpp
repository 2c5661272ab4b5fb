// NumPy, DLPack and pickling.
#include "exchange.h"

#include <memory>
#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/tensor/dlpack.h>

#include "bind.h"
#include "exports.h"
#include "process.h"
#include "values.h"

namespace plimsoll::python {
namespace {

constexpr const char* kLegacy = "dltensor";
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUsedLegacy = "used_dltensor";
constexpr const char* kUsedVersioned = "used_dltensor_versioned";

nb::object numpy_module() {
  try {
    return nb::module_::import_("numpy");
  } catch (nb::python_error&) {
    throw nb::import_error("[numpy] NumPy is not installed here; run: pip install numpy");
  }
}

/// Ours with one thing more to let go: the Export. The deleter may be called by any thread of any
/// library, with or without the GIL.
template <typename Managed>
struct Exported {
  Managed managed;  // first: what others have is its address
  Managed* inner;
  Export held;

  Exported(Managed* made, const Tensor& x) : managed(*made), inner(made), held(x) {
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) {
      const AsIfUnlocked unknown;
      std::unique_ptr<Exported> all(static_cast<Exported*>(self->manager_ctx));
      if (all->inner->deleter != nullptr) all->inner->deleter(all->inner);
    };
  }
};

template <typename Managed>
nb::object capsule(Managed* made, const Tensor& x, const char* name) {
  auto* exported = new Exported<Managed>(made, x);  // NOLINT: its deleter deletes it
  PyObject* object = PyCapsule_New(&exported->managed, name, [](PyObject* self) {
    for (const char* each : {kLegacy, kVersioned}) {
      if (PyCapsule_IsValid(self, each) == 0) continue;
      auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, each));
      unused->deleter(unused);
    }
  });
  if (object == nullptr) {
    exported->managed.deleter(&exported->managed);
    throw nb::python_error();
  }
  return nb::steal(object);
}

/// Another library's tensor whose deleter is called with the GIL, as some need it.
template <typename Managed>
Tensor adopt(Managed* given, const Device& device) {
  auto* wrapped = new Managed(*given);  // NOLINT: its deleter deletes it
  wrapped->manager_ctx = given;
  wrapped->deleter = [](Managed* self) {
    auto* theirs = static_cast<Managed*>(self->manager_ctx);
    delete self;  // NOLINT: see above
    release_with_gil([theirs] {
      if (theirs->deleter != nullptr) theirs->deleter(theirs);
    });
  };
  try {
    return from_dlpack(wrapped, device);
  } catch (...) {
    delete wrapped;  // NOLINT: theirs stays theirs
    throw;
  }
}

Device device_of(const dlpack::DLTensor& tensor) {
  if (tensor.device.device_type == dlpack::kDLCUDA) {
    return Device::open("cuda:" + std::to_string(tensor.device.device_id));
  }
  return DefaultDevice::host();
}

}  // namespace

nb::object to_numpy(nb::handle self) {
  const Tensor x = as_tensor(self, {"numpy", "self"});
  if (x.is_symbolic()) item(x);  // says why not
  if (x.dtype() == DType::bytes) {
    return numpy_module().attr("array")(to_list(x), nb::arg("dtype") = "S");
  }
  try {
    return numpy_module().attr("asarray")(nb::steal(PyMemoryView_FromObject(nb::cast(x).ptr())));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    throw InvalidArgument("[numpy] " + nb::cast<std::string>(nb::str(error.value())));
  }
}

nb::object as_array(nb::handle self, nb::handle dtype, nb::handle copy) {
  nb::object array = to_numpy(self);
  if (!copy.is_none() && nb::cast<bool>(copy)) {
    return numpy_module().attr("array")(array, nb::arg("dtype") = dtype);
  }
  if (dtype.is_none()) return array;
  return numpy_module().attr("asarray")(array, nb::arg("dtype") = dtype);
}

nb::object to_capsule(nb::handle self, nb::handle stream, nb::handle max_version,
                      nb::handle dl_device, nb::handle copy) {
  Tensor x = as_tensor(self, {"__dlpack__", "self"});
  if (x.is_symbolic()) item(x);
  if (!dl_device.is_none() && !capsule_device(x).equal(dl_device)) {
    throw nb::buffer_error(
        ("[__dlpack__] the tensor is on '" + x.device().name() + "'; copy it first: x.to(...)")
            .c_str());
  }
  if (!copy.is_none() && nb::cast<bool>(copy)) {
    const Unlocked unlocked;
    x = x.clone();
  }
  {
    // Whoever takes it may read it on any stream, and says with -1 that it has nothing to wait for
    // but the tensor itself.
    const bool waits = stream.is_none() || nb::cast<std::int64_t>(stream) != -1;
    const Unlocked unlocked;
    x.raw_data();
    if (waits && !x.device().capabilities().host_memory) x.device().synchronize();
  }
  if (!max_version.is_none() && nb::cast<int>(nb::borrow(max_version)[0]) >= 1) {
    return capsule(to_dlpack(x).release(), x, kVersioned);
  }
  return capsule(to_dlpack_legacy(x).release(), x, kLegacy);
}

nb::tuple capsule_device(const Tensor& x) {
  const int kind = x.device().capabilities().host_memory ? dlpack::kDLCPU : dlpack::kDLCUDA;
  return nb::make_tuple(kind, x.device().ordinal());
}

Tensor as_tensor_or_array(nb::handle value, Where where) {
  if (is_tensor(value)) return as_tensor(value, where);
  if (has_buffer(value)) return from_buffer(value, where);
  if (nb::hasattr(value, "__dlpack__")) return from_dlpack_object(value);
  wrong_type(where, value, "it must be a tensor or an array");
}

Tensor from_dlpack_object(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) {
    wrong_type({"from_dlpack", "x"}, object, "it must be an array or tensor with __dlpack__");
  }
  nb::object given;
  try {
    given = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    given = object.attr("__dlpack__")();
  }
  const auto take = [&](auto* managed, const char* used) {
    const Device device = device_of(managed->dl_tensor);
    Tensor made = adopt(managed, device);
    PyCapsule_SetName(given.ptr(), used);
    if (!device.capabilities().host_memory) {
      // Its library has ordered what still computes it before the default stream, which ours do not
      // wait for.
      const Unlocked unlocked;
      device.synchronize();
    }
    return made;
  };
  if (PyCapsule_IsValid(given.ptr(), kVersioned) != 0) {
    return take(static_cast<dlpack::DLManagedTensorVersioned*>(
                    PyCapsule_GetPointer(given.ptr(), kVersioned)),
                kUsedVersioned);
  }
  if (PyCapsule_IsValid(given.ptr(), kLegacy) != 0) {
    return take(static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(given.ptr(), kLegacy)),
                kUsedLegacy);
  }
  wrong_type({"from_dlpack", "x"}, object, "its __dlpack__ must give a DLPack capsule");
}

nb::tuple reduce(const Tensor& x) {
  if (x.is_symbolic()) item(x);
  const nb::object rebuild = nb::module_::import_("plimsoll._pickle").attr("rebuild_tensor");
  nb::object contents;
  if (x.dtype() == DType::bytes) {
    std::vector<std::int64_t> all = {x.elements()};
    contents = to_list(x.reshape(Shape(std::span<const std::int64_t>(all))));
  } else {
    std::string bytes(static_cast<std::size_t>(x.nbytes()), '\0');
    {
      const Unlocked unlocked;
      copy_out(x, bytes.data(), x.elements());
    }
    contents = nb::bytes(bytes.data(), bytes.size());
  }
  return nb::make_tuple(rebuild, nb::make_tuple(contents, std::string(dtype_name(x.dtype())),
                                                shape_tuple(x.shape())));
}

void bind_exchange(nb::module_& m) {
  m.def(
      "from_numpy",
      [](nb::handle array) {
        use_process();
        if (!has_buffer(array)) {
          wrong_type({"from_numpy", "array"}, array, "it must be a NumPy array, or have a buffer");
        }
        return from_buffer(array, {"from_numpy", "array"});
      },
      nb::arg("array"), nb::sig("def from_numpy(array: typing.Any) -> Tensor"),
      "A tensor on cpu:0 that shares the array's memory, which is not charged to any budget. "
      "pm.tensor copies instead.");
  m.def(
      "from_dlpack",
      [](nb::handle x) {
        use_process();
        return from_dlpack_object(x);
      },
      nb::arg("x"), nb::sig("def from_dlpack(x: typing.Any) -> Tensor"),
      "A tensor that shares the memory of another library's: pm.from_dlpack(torch_tensor).");
  m.def("_rebuild_tensor", [](nb::handle contents, nb::handle dtype, nb::handle shape) {
    const DType type = as_dtype(dtype, {"pickle", "dtype"});
    const Shape dims = as_shape(shape, {"pickle", "shape"});
    const Device device = as_device(nb::none(), {"pickle", "device"});
    if (type == DType::bytes) {
      const std::int64_t count = dims.elements();
      return count == 0
                 ? Tensor::from_strings(std::span<const std::string>(), dims, DefaultDevice::host())
                 : make_tensor(contents, type, device).reshape(dims);
    }
    Tensor made = Tensor::empty(dims, type, device);
    copy_in(made, nb::cast<nb::bytes>(contents).c_str(), dims.elements());
    return made;
  });
}

}  // namespace plimsoll::python
