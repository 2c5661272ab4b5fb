#pragma once

#include <optional>

#include <nanobind/nanobind.h>

#include <plimsoll/data/symbolic.h>
#include <plimsoll/ops/reduce.h>

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
/// The other side of an operator: a number takes the dtype of `like`, and so does an array or a
/// tensor, which is a constant. nullopt for all else.
std::optional<data::Symbolic> beside(const data::Symbolic& like, nb::handle other,
                                     bool divides = false);
/// A picture: a path is read and decoded, the contents of a file are decoded.
data::Symbolic as_picture(nb::handle value, Where where);

/// As of tensors: of bools they count those that are true.
data::Symbolic sum_or_count(const data::Symbolic& x, const ops::ReduceOptions& options);
data::Symbolic mean_or_share(const data::Symbolic& x, const ops::ReduceOptions& options);
data::Symbolic variance(const data::Symbolic& x, const ops::ReduceOptions& options);

/// What random numbers belong to while a function is traced: a component of each element. nullptr
/// outside, and where whoever traces draws in another way.
const data::Symbolic* drawn_beside();

/// Operators, indexing and methods of what is traced.
void bind_symbolic_class(nb::module_& m);

}  // namespace plimsoll::python
