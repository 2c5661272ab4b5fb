#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// From now on what C++ throws is raised as the class of that name in plimsoll.errors.
void bind_errors(nb::module_& m);

/// What Python functions raised while C++ called them, kept until the error that it became in C++
/// is raised: the user sees both. Needs the GIL.
void remember_cause(nb::handle exception);

}  // namespace plimsoll::python
