#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include <plimsoll/optim/optimizer.h>

#include "convert.h"

namespace plimsoll::python {

/// A Schedule, or a number.
optim::Schedule as_schedule(nb::handle value, Where where);
/// An Optimizer, or a name with its defaults.
optim::Optimizer as_optimizer(nb::handle value, Where where);
/// A list of pm.optim.Group, and one more for vectors unless those decay.
std::vector<optim::Group> as_groups(nb::handle groups, bool decay_vectors, Where where);

}  // namespace plimsoll::python
