// Cumulative sums, sorting, choosing by tensors of indices, and linear algebra.
#include <nanobind/stl/pair.h>

#include <plimsoll/math/index.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/linalg.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

constexpr const char* kCumulative =
    "x: Tensor | Variable, axis: int = -1, *, reverse: bool = False, exclusive: bool = False";
constexpr const char* kSort = "x: Tensor | Variable, axis: int = -1, *, descending: bool = False";

template <Tensor (*op)(const Tensor&, int, const ops::CumulativeOptions&)>
nb::object cumulative(const Given& given) {
  const Tensor x = given.tensor("x");
  const int axis = static_cast<int>(given.integer("axis"));
  const ops::CumulativeOptions options{.reverse = given.flag("reverse"),
                                       .exclusive = given.flag("exclusive")};
  return computed([&] { return op(x, axis, options); });
}

template <typename Result, Result (*op)(const Tensor&, int, const ops::SortOptions&)>
nb::object sorted(const Given& given) {
  const Tensor x = given.tensor("x");
  const int axis = static_cast<int>(given.integer("axis"));
  const ops::SortOptions options{.descending = given.flag("descending")};
  return computed([&] { return op(x, axis, options); });
}

void bind_order(nb::module_& m) {
  define(m, "cumsum", kCumulative, "Tensor",
         "Sums of the elements up to each; `exclusive` leaves the element itself out.\n\n"
         ">>> pm.cumsum(pm.tensor([1.0, 2.0, 3.0]))  # [1, 3, 6]",
         cumulative<ops::cumsum>);
  define(m, "cumprod", kCumulative, "Tensor", "Products of the elements up to each.",
         cumulative<ops::cumprod>);
  define(m, "sort", kSort, "tuple[Tensor, Tensor]",
         "The elements along an axis in order, and where each was; equal ones keep their order.",
         sorted<std::pair<Tensor, Tensor>, ops::sort>);
  define(m, "argsort", kSort, "Tensor", "Where the elements of the sorted axis were.",
         sorted<Tensor, ops::argsort>);
}

void bind_choice(nb::module_& m) {
  define(m, "gather_nd", "x: Tensor | Variable, indices: Tensor | Variable", "Tensor",
         "What indices [..., k] name in the first k dimensions of x.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const Tensor indices = given.tensor("indices");
           return computed([&] { return math::gather_nd(x, indices); });
         });
  define(m, "scatter_nd",
         "indices: Tensor | Variable, updates: Tensor | Variable, shape: typing.Sequence[int]",
         "Tensor", "Zeros of `shape` to which updates are added at indices [..., k].",
         [](const Given& given) {
           const Tensor indices = given.tensor("indices");
           const Tensor updates = given.tensor("updates");
           const Shape shape(given.integers("shape"));
           return computed([&] { return math::scatter_nd(indices, updates, shape); });
         });
  define(m, "take_along", "x: Tensor | Variable, indices: Tensor | Variable, axis: int = -1",
         "Tensor", "From each line along an axis of x, the elements that the indices name.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const Tensor indices = given.tensor("indices");
           const int axis = static_cast<int>(given.integer("axis"));
           return computed([&] { return math::take_along(x, indices, axis); });
         });
  define(m, "nonzero", "x: Tensor | Variable", "Tensor",
         "i64 [count, rank]: where x is not zero. Waits for values, so not in traces.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           return computed([&] { return math::nonzero(x); });
         });
  define(m, "unique", "x: Tensor | Variable", "tuple[Tensor, Tensor, Tensor]",
         "The distinct elements in rising order, which of them each element of x is, and how often "
         "each occurs. Not in traces.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           math::Unique found;
           {
             const Unlocked unlocked;
             found = math::unique(x);
           }
           return nb::object(nb::make_tuple(found.values, found.inverse, found.counts));
         });
}

void bind_linear_algebra(nb::module_& m) {
  define(m, "solve", "a: Tensor | Variable, b: Tensor | Variable", "Tensor",
         "x with a x = b, for matrices [..., n, n] and [..., n, k]; on the CPU.",
         [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           return computed([&] { return ops::solve(a, b); });
         });
  define(m, "cholesky", "a: Tensor | Variable", "Tensor",
         "The lower triangle l with l lᵀ = a, for positive definite [..., n, n]; on the CPU.",
         [](const Given& given) {
           const Tensor a = given.tensor("a");
           return computed([&] { return ops::cholesky(a); });
         });
  define(m, "triangular_solve",
         "a: Tensor | Variable, b: Tensor | Variable, *, upper: bool = False, transpose: bool = "
         "False",
         "Tensor", "solve() where only one triangle of a counts.", [](const Given& given) {
           const Tensor a = given.tensor("a");
           const Tensor b = given.tensor("b");
           const ops::TriangularOptions options{.upper = given.flag("upper"),
                                                .transpose = given.flag("transpose")};
           return computed([&] { return ops::triangular_solve(a, b, options); });
         });
  define(m, "svd", "a: Tensor | Variable", "tuple[Tensor, Tensor, Tensor]",
         "u, s and vh with a = u diag(s) vh, for matrices [..., m, n]; on the CPU.",
         [](const Given& given) {
           const Tensor a = given.tensor("a");
           ops::Svd parts;
           {
             const Unlocked unlocked;
             parts = ops::svd(a);
           }
           return nb::object(nb::make_tuple(parts.u, parts.s, parts.vh));
         });
}

}  // namespace

void bind_index_ops(nb::module_& m) {
  bind_order(m);
  bind_choice(m);
  bind_linear_algebra(m);
}

}  // namespace plimsoll::python
