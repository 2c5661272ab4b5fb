#pragma once

// How ops are bound: by name, with arguments that are checked by name.

#include <string>

#include <nanobind/nanobind.h>

#include <plimsoll/ops/reduce.h>
#include <plimsoll/tensor/tensor.h>

namespace nb = nanobind;

namespace plimsoll::python {

/// name(x)
void unary(nb::module_& m, const char* name, Tensor (*op)(const Tensor&), const char* doc);
/// name(x, number=default)
void unary_with(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, double),
                const char* number, double by_default, const char* doc);
/// name(a, b), where either may be a number of the other's dtype
void binary(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, const Tensor&),
            const char* doc);
/// name(x, axis=None, keepdims=False)
void reduction(nb::module_& m, const char* name,
               Tensor (*op)(const Tensor&, const ops::ReduceOptions&), const char* doc);

/// As stubs have it.
inline constexpr const char* kTensor = "Tensor | Variable";

}  // namespace plimsoll::python
