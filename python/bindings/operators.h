#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// Gives a class that as_tensor() reads the arithmetic, comparisons, indexing and methods of a
/// tensor: Tensor and Variable have the same.
void bind_operators(nb::handle cls);

}  // namespace plimsoll::python
