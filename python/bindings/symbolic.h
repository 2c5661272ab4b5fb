#pragma once

#include <nanobind/nanobind.h>

#include <plimsoll/data/symbolic.h>

#include "convert.h"

namespace nb = nanobind;

namespace plimsoll::python {

/// A component of an element while a function that is given to map() is traced.
struct Traced {
  data::Symbolic value;
  /// A component as it comes into the function: a byte string is then the path of a file.
  bool is_input = false;
};

data::Symbolic as_symbolic(nb::handle value, Where where);
/// A picture: a path is read and decoded, the contents of a file are decoded.
data::Symbolic as_picture(nb::handle value, Where where);

/// Operators, indexing and methods of what is traced.
void bind_symbolic_class(nb::module_& m);

}  // namespace plimsoll::python
