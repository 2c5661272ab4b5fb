#pragma once

// Elements of a pipeline as Python sees them. All need the GIL.

#include <nanobind/nanobind.h>

#include <plimsoll/data/element.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/spec.h>

#include "convert.h"

namespace nb = nanobind;

namespace plimsoll::python {

/// A component: int, float or bool for a number, bytes for a byte string, else a Tensor, or with
/// `numpy` an array that shares its memory.
nb::object to_python(const data::Value& value, bool numpy = false);
/// All components as a tuple; the only one by itself.
nb::object to_python(const data::Element& element);

/// A component of what Python gave: numbers (i64, f32, bool), byte strings, tensors, arrays.
/// Arrays are copied into memory of `context`, or shared where there is none.
data::Value to_value(nb::handle given, data::MapContext* context, Where where);
/// A tuple or list of components, or one.
data::Element to_element(nb::handle given, data::MapContext* context, Where where);
/// The same as `spec`, which somebody stated, says: numbers and arrays take its dtypes. DataError
/// for another shape, and for values that a dtype does not have: a fraction is no integer.
data::Element to_element(nb::handle given, const data::ElementSpec& spec, data::MapContext* context,
                         Where where);

/// [(dtype, shape or None), ...], where None stands for extents that differ; None: unknown.
data::ElementSpec as_spec(nb::handle value, Where where);

/// Calls `function` with components of `element` as NumPy arrays. What it raises becomes a
/// DataError that names the line, with the exception as its cause.
nb::object call_python(const nb::object& function, const data::Element& element);
/// Throws that DataError for the Python error in flight.
[[noreturn]] void fail_as_data_error(nb::python_error& error);

}  // namespace plimsoll::python
