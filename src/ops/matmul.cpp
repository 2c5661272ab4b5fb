// Matrix products.
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/matmul.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/product_shape.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tf32.h>

#include "ops/broadcast.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> matmul_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape& a = inputs.shape(0);
  const Shape& b = inputs.shape(1);
  if (a.rank() < 2 || b.rank() < 2) inputs.fail("both inputs need at least two dimensions");
  const bool ta = inputs.attributes().flag("transpose_a");
  const bool tb = inputs.attributes().flag("transpose_b");
  const std::int64_t inner = a.dim(ta ? -2 : -1);
  if (inner != b.dim(tb ? -1 : -2)) {
    inputs.fail(fmt::format("inner extents {} and {} differ", inner, b.dim(tb ? -1 : -2)));
  }
  const std::optional<Shape> batch = broadcast(Shape(a.dims().first(a.dims().size() - 2)),
                                               Shape(b.dims().first(b.dims().size() - 2)));
  if (!batch) inputs.fail("batch dimensions do not broadcast");
  std::vector<std::int64_t> dims(batch->begin(), batch->end());
  dims.push_back(a.dim(ta ? -1 : -2));
  dims.push_back(b.dim(tb ? -2 : -1));
  return {{inputs.dtype(0), Shape(std::span<const std::int64_t>(dims))}};
}

Cost matmul_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost;
  const std::int64_t inner = inputs.shape(0).dim(inputs.attributes().flag("transpose_a") ? -2 : -1);
  cost.flops = 2.0 * static_cast<double>(outputs[0].elements()) * static_cast<double>(inner);
  cost.bytes = static_cast<double>(inputs[0].bytes() + inputs[1].bytes() + outputs[0].bytes());
  return cost;
}

void matmul_gradient(GradientContext& g) {
  const bool ta = g.attributes().flag("transpose_a");
  const bool tb = g.attributes().flag("transpose_b");
  const bool tf32 = uses_tf32(g.attributes());
  // The weight's first: `a` can go before the gradient of its size comes.
  if (g.needs(1)) {
    const Tensor& a = g.input(0);
    const Tensor db =
        tb ? matmul(g.grad(), a, {.transpose_a = true, .transpose_b = ta, .tf32 = tf32})
           : matmul(a, g.grad(), {.transpose_a = !ta, .tf32 = tf32});
    g.set(1, sum_to(db, g.input_type(1).shape));
  }
  if (g.needs(0)) {
    const Tensor& b = g.input(1);
    const Tensor da =
        ta ? matmul(b, g.grad(), {.transpose_a = tb, .transpose_b = true, .tf32 = tf32})
           : matmul(g.grad(), b, {.transpose_b = !tb, .tf32 = tf32});
    g.set(0, sum_to(da, g.input_type(0).shape));
  }
}

const OpDef kMatmul = {
    .name = "matmul",
    .family = "matmul",
    .summary = "matrix products over the last two dimensions",
    .inputs = 2,
    .dtypes = kFloats,
    .types = matmul_types,
    .gradient = matmul_gradient,
    .kept =
        [](std::uint32_t needed) {
          return Kept{.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
        },
    .cost = matmul_cost,
    .workspace =
        [](const OpInputs& in, std::span<const TensorType> out) {
          return products_workspace(products_of_matmul(in, out));
        },
    .precision = Precision::compute,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType> out) {
          return GpuWork{products_of_matmul(in, out)};
        },
};

/// Which of the weight's dimensions is the features'.
int inner_of(const Attributes& attributes) {
  return attributes.has("transposed") && attributes.flag("transposed") ? 0 : 1;
}

std::vector<TensorType> linear_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  inputs.require_rank(1, 2);
  const Shape& x = inputs.shape(0);
  const Shape& weight = inputs.shape(1);
  const int inner = inner_of(inputs.attributes());
  if (x.rank() < 1) inputs.fail("x needs at least one dimension");
  if (x.dim(-1) != weight[inner]) {
    inputs.fail(fmt::format("x has {} features, the weight {} takes {}", x.dim(-1),
                            inner == 1 ? "[out,in]" : "[in,out]", weight[inner]));
  }
  const std::int64_t out = weight[1 - inner];
  if (inputs.count() > 2 && inputs.shape(2) != Shape{out}) {
    inputs.fail(fmt::format("the bias must be [{}]", out));
  }
  return {{inputs.dtype(0), x.with_dim(-1, out)}};
}

Cost linear_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost;
  const auto inner = static_cast<double>(inputs.shape(1)[inner_of(inputs.attributes())]);
  cost.flops = 2.0 * static_cast<double>(outputs[0].elements()) * inner;
  cost.bytes = static_cast<double>(outputs[0].bytes());
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

/// The leading dimensions as one.
Tensor as_rows(const Tensor& x) {
  const std::int64_t columns = x.dim(-1);
  std::int64_t rows = 1;
  for (int i = 0; i < x.rank() - 1; ++i) rows *= x.dim(i);
  return reshape(x, Shape{rows, columns});
}

void linear_gradient(GradientContext& g) {
  const bool transposed = inner_of(g.attributes()) == 0;
  const bool tf32 = uses_tf32(g.attributes());
  if (g.needs(1)) {
    const Tensor dy = as_rows(g.grad());
    const Tensor x = as_rows(g.input(0));
    const MatmulOptions options{.transpose_a = true, .tf32 = tf32};
    g.set(1, transposed ? matmul(x, dy, options) : matmul(dy, x, options));
  }
  if (g.input_count() > 2 && g.needs(2)) g.set(2, sum(as_rows(g.grad()), {.axes = {0}}));
  if (g.needs(0)) {
    const Tensor dx =
        matmul(as_rows(g.grad()), g.input(1), {.transpose_b = transposed, .tf32 = tf32});
    g.set(0, reshape(dx, g.input_type(0).shape));
  }
}

const OpDef kLinear = {
    .name = "linear",
    .family = "matmul",
    .summary = "x times the transpose of a weight [out,in], or times one [in,out], plus a bias",
    .inputs = 2,
    .optional_inputs = 1,
    .dtypes = kFloats,
    .types = linear_types,
    .gradient = linear_gradient,
    .kept =
        [](std::uint32_t needed) {
          return Kept{.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
        },
    .cost = linear_cost,
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return products_workspace(products_of_linear(in));
        },
    .precision = Precision::compute,
    .gpu_work = [](const OpInputs& in,
                   std::span<const TensorType>) { return GpuWork{products_of_linear(in)}; },
};

constexpr std::array kMatmulOps = {&kMatmul, &kLinear};

const RegisterOps kMatmulRegistered(kMatmulOps);

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const bool row = a.defined() && a.rank() == 1;
  const bool column = b.defined() && b.rank() == 1;
  if ((row && b.defined() && b.rank() > 0) || (column && a.defined() && a.rank() > 0)) {
    // A vector is a row on the left and a column on the right, whatever is to be transposed.
    MatmulOptions with = options;
    if (row) with.transpose_a = false;
    if (column) with.transpose_b = false;
    const Tensor x = row ? reshape(a, Shape{1, a.dim(0)}) : a;
    const Tensor y = column ? reshape(b, Shape{b.dim(0), 1}) : b;
    const Tensor product = matmul(x, y, with);
    Shape shape = product.shape();
    if (column) shape = shape.with_removed(shape.rank() - 1);
    if (row) shape = shape.with_removed(shape.rank() - (column ? 1 : 2));
    return reshape(product, shape);
  }
  Attributes attributes = {{"transpose_a", options.transpose_a},
                           {"transpose_b", options.transpose_b}};
  if (options.tf32) attributes.set("tf32", true);
  return call_one(kMatmul, {a, b}, attributes);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const LinearOptions& options) {
  Attributes attributes;
  if (options.transposed) attributes.set("transposed", true);
  if (options.tf32) attributes.set("tf32", true);
  return call_one(kLinear, {x, weight, bias}, attributes);
}

}  // namespace plimsoll::ops
