#pragma once

#include <nanobind/nanobind.h>

#include <plimsoll/tensor/tensor.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// None for an undefined tensor.
nb::object tensor_or_none(const Tensor& x);

}  // namespace plimsoll::python
