// Normalisation by groups and of weights.
#include <nanobind/stl/tuple.h>

#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/weight_form.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {

void bind_norms(nb::module_& m, nb::module_& nn) {
  define_class<nn::GroupNorm, nn::Module>(
      m, "GroupNorm",
      "groups: int, *, channels: int = 0, epsilon: float = 1e-05, affine: bool = True",
      "Over the channels of a group and everything behind them, each element of the batch by "
      "itself.\n\n>>> pm.nn.GroupNorm(8)",
      [](nn::GroupNorm* self, const Given& given) {
        new (self) nn::GroupNorm(
            given.integer("groups"),
            {given.integer("channels"), given.number("epsilon"), given.flag("affine")});
      });
  define_class<nn::InstanceNorm, nn::Module>(
      m, "InstanceNorm", "*, channels: int = 0, epsilon: float = 1e-05, affine: bool = False",
      "A group for each channel; x has 3 dimensions or more. It keeps no running statistics.",
      [](nn::InstanceNorm* self, const Given& given) {
        new (self) nn::InstanceNorm(
            {given.integer("channels"), given.number("epsilon"), given.flag("affine")});
      });
  define(nn, "group_norm",
         "x: Tensor | Variable, groups: int, weight: Tensor | Variable | None = None, bias: Tensor "
         "| Variable | None = None, *, epsilon: float = 1e-05",
         "Tensor",
         "x [n, channels, ...] less its mean and divided by its deviation over each group of "
         "channels.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t groups = given.integer("groups");
           const Tensor weight = given.optional_tensor("weight");
           const Tensor bias = given.optional_tensor("bias");
           const double epsilon = given.number("epsilon");
           return computed([&] { return nn::group_norm(x, groups, weight, bias, epsilon); });
         });
  define(nn, "weight_norm", "v: Tensor | Variable, g: Tensor | Variable", "Tensor",
         "v [out, ...] with every row of dimension 0 scaled to the length that g [out, 1, ...] "
         "says.",
         [](const Given& given) {
           const Tensor v = given.tensor("v");
           const Tensor g = given.tensor("g");
           return computed([&] { return nn::weight_norm(v, g); });
         });
  define(nn, "spectral_norm",
         "weight: Tensor | Variable, u: Tensor | Variable, v: Tensor | Variable, *, iterate: bool "
         "= True, epsilon: float = 1e-12",
         "tuple[Tensor, Tensor, Tensor]",
         "The weight divided by its largest singular value, as far as u and v know it, and both "
         "after one more round of power iteration.",
         [](const Given& given) {
           const Tensor weight = given.tensor("weight");
           const Tensor u = given.tensor("u");
           const Tensor v = given.tensor("v");
           const bool iterate = given.flag("iterate");
           const double epsilon = given.number("epsilon");
           return computed([&] {
             const auto result = nn::spectral_norm(weight, u, v, iterate, epsilon);
             return std::tuple(result.weight, result.u, result.v);
           });
         });
}

}  // namespace plimsoll::python
