// Functions of tensors that are written in ops.
#include <plimsoll/math/arrange.h>
#include <plimsoll/math/einsum.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/softmax.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

void bind_triangles(nb::module_& m) {
  define(m, "tril", "x: Tensor | Variable, diagonal: int = 0", "Tensor",
         "x [..., rows, columns] with zeros above a diagonal.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t diagonal = given.integer("diagonal");
           return computed([&] { return math::tril(x, diagonal); });
         });
  define(m, "triu", "x: Tensor | Variable, diagonal: int = 0", "Tensor",
         "x [..., rows, columns] with zeros below a diagonal.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t diagonal = given.integer("diagonal");
           return computed([&] { return math::triu(x, diagonal); });
         });
  define(m, "lower_triangle", "rows: int, columns: int, like: Tensor | Variable, diagonal: int = 0",
         "Tensor", "bool [rows, columns]: on and below a diagonal; where `like` is.",
         [](const Given& given) {
           const std::int64_t rows = given.integer("rows");
           const std::int64_t columns = given.integer("columns");
           const Tensor like = given.tensor("like");
           const std::int64_t diagonal = given.integer("diagonal");
           return computed([&] { return math::lower_triangle(rows, columns, like, diagonal); });
         });
}

void bind_more_ops(nb::module_& m) {
  define(
      m, "linear_cross_entropy",
      "x: Tensor | Variable, weight: Tensor | Variable, labels: Tensor | Variable", "Tensor",
      "cross_entropy of x times the transpose of weight [classes, features]; the logits are never "
      "stored all at once.",
      [](const Given& given) {
        const Tensor x = given.tensor("x");
        const Tensor weight = given.tensor("weight");
        const Tensor labels = given.tensor("labels");
        return computed([&] { return ops::linear_cross_entropy(x, weight, labels); });
      });
  define(m, "batch_norm_inference",
         "x: Tensor | Variable, scale: Tensor | Variable, bias: Tensor | Variable, mean: Tensor | "
         "Variable, variance: Tensor | Variable, *, epsilon: float = 1e-05, layout: str = "
         "'channels_first'",
         "Tensor", "batch_norm() with given statistics.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const Tensor scale = given.tensor("scale");
           const Tensor bias = given.tensor("bias");
           const Tensor mean = given.tensor("mean");
           const Tensor variance = given.tensor("variance");
           const double epsilon = given.number("epsilon");
           const Layout layout = as_layout(given.value("layout"), given.where("layout"));
           return computed([&] {
             return ops::batch_norm_inference(x, scale, bias, mean, variance, epsilon, layout);
           });
         });
}

}  // namespace

void bind_math(nb::module_& m) {
  bind_more_ops(m);
  define(m, "einsum", "equation: str, *operands: Tensor | Variable", "Tensor",
         "Sums of products in Einstein notation.\n\n"
         ">>> pm.einsum(\"bij,bjk->bik\", a, b)",
         [](const Given& given) {
           const std::string equation = given.text("equation");
           const std::vector<Tensor> operands =
               as_tensors(given.value("operands"), given.where("operands"));
           return computed([&] { return math::einsum(equation, operands); });
         });
  define(m, "roll", "x: Tensor | Variable, by: int, axis: int", "Tensor",
         "Moves elements along `axis` by `by` places; those that leave at one end come in at the "
         "other.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t by = given.integer("by");
           const int axis = static_cast<int>(given.integer("axis"));
           return computed([&] { return math::roll(x, by, axis); });
         });
  define(m, "repeat", "x: Tensor | Variable, count: int, axis: int", "Tensor",
         "Repeats every slice along `axis` `count` times in a row.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t count = given.integer("count");
           const int axis = static_cast<int>(given.integer("axis"));
           return computed([&] { return math::repeat(x, count, axis); });
         });
  define(m, "flip", "x: Tensor | Variable, axis: int", "Tensor",
         "Reverses the order of the elements along `axis`.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const int axis = static_cast<int>(given.integer("axis"));
           return computed([&] { return math::flip(x, axis); });
         });
  define(m, "norm",
         "x: Tensor | Variable, axis: int | typing.Sequence[int] | None = None, *, kind: str = "
         "'euclidean', keepdims: bool = False",
         "Tensor",
         "The root of the sum of squares (\"euclidean\"), the sum of absolute values "
         "(\"absolute\"), or the largest of them (\"largest\").",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const auto kind =
               static_cast<math::Norm>(given.choice("kind", {"euclidean", "absolute", "largest"}));
           const ops::ReduceOptions options{as_axes(given.value("axis"), given.where("axis")),
                                            given.flag("keepdims")};
           return computed([&] { return math::norm(x, kind, options); });
         });
  bind_triangles(m);
}

}  // namespace plimsoll::python
