#pragma once

// Memory that tensors and others share: the buffer protocol, NumPy, DLPack, pickling.

#include <nanobind/nanobind.h>

#include <plimsoll/tensor/tensor.h>

#include "convert.h"

namespace nb = nanobind;

namespace plimsoll::python {

/// Tensor's part of the buffer protocol: memoryview(x), numpy.asarray(x).
const PyType_Slot* buffer_slots();

/// Whether it has a buffer of its own: NumPy arrays, array.array, memoryview; not bytes.
bool has_buffer(nb::handle value);
/// A tensor that shares the buffer of `value`, which stays alive with it. The memory is not charged
/// to any budget. InvalidArgument for what has no dtype here.
Tensor from_buffer(nb::handle value, Where where);

nb::object to_numpy(nb::handle self);
nb::object as_array(nb::handle self, nb::handle dtype, nb::handle copy);

nb::object to_capsule(nb::handle self, nb::handle stream, nb::handle max_version,
                      nb::handle dl_device, nb::handle copy);
nb::tuple capsule_device(const Tensor& x);
/// A tensor that shares the memory of an object with __dlpack__.
Tensor from_dlpack_object(nb::handle object);

/// A tensor as it is, or one that shares the memory of an array.
Tensor as_tensor_or_array(nb::handle value, Where where);

/// For pickle: a host copy.
nb::tuple reduce(const Tensor& x);

}  // namespace plimsoll::python
