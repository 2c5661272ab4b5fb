#pragma once

#include <nanobind/nanobind.h>

#include <plimsoll/tensor/tensor.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// x[index]: integers, slices, None, `...`, and a tensor of integers for the first dimension. A
/// view as NumPy's; where a tape or a trace follows, an op.
Tensor get_item(const Tensor& x, nb::handle index);
/// x[index] = value
void set_item(Tensor& x, nb::handle index, nb::handle value);

/// reshape(), sum() and the other methods of tensors and variables.
void bind_methods(nb::handle cls);

/// Whether views must be ops, since somebody follows.
bool is_followed(const Tensor& x);

}  // namespace plimsoll::python
