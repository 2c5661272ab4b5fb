#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// From now on what C++ throws is raised as the class of that name in plimsoll.errors.
void bind_errors(nb::module_& m);

/// Raises an exception that Python code has made: with no frame of that code in its traceback.
[[noreturn]] void raise_made(const nb::object& exception);

/// What a Python function raised while C++ called it, kept until the error with `text` in its
/// message is raised: the user sees both. An exception that is no Exception, such as
/// KeyboardInterrupt, is raised itself. Needs the GIL.
void remember_cause(nb::handle exception, const std::string& text);

}  // namespace plimsoll::python
