#pragma once

#include <nanobind/nanobind.h>

#include <plimsoll/optim/optimizer.h>

#include "convert.h"

namespace plimsoll::python {

/// A Schedule, or a number.
optim::Schedule as_schedule(nb::handle value, Where where);
/// An Optimizer, or a name with its defaults.
optim::Optimizer as_optimizer(nb::handle value, Where where);

}  // namespace plimsoll::python
