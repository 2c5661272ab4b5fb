#pragma once

#include <nanobind/nanobind.h>

#include <plimsoll/tensor/tensor.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// The element of a tensor with one, as int, float, bool or bytes. Throws InvalidArgument for other
/// tensors, and for one that is traced, with what to do instead.
nb::object item(const Tensor& x);
/// All elements as nested lists.
nb::object to_list(const Tensor& x);
/// For `if x:`.
bool truth(const Tensor& x);
/// For range(x): an integer.
nb::object as_index(const Tensor& x);

/// A tensor of nested lists, numbers, bytes or something with a buffer, on `device`. Without a
/// dtype integers are i64, floats f32, and arrays stay what they are.
Tensor make_tensor(nb::handle data, std::optional<DType> dtype, const Device& device);

/// Copies `count` elements of `dtype` at `from`, in row-major order, into a tensor with strides.
void copy_in(Tensor& to, const void* from, std::int64_t count);
/// And out of one.
void copy_out(const Tensor& from, void* to, std::int64_t count);

}  // namespace plimsoll::python
