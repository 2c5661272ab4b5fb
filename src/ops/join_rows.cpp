#include <plimsoll/ops/join_rows.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::ops {
namespace {

std::vector<TensorType> join_rows_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape& first = inputs.shape(0);
  const DType dtype = inputs.attributes().dtype("dtype");
  if (!is_floating(dtype)) {
    inputs.fail(
        fmt::format("the result cannot be {}, which is not floating point", dtype_name(dtype)));
  }
  if (first.rank() == 0) inputs.fail("scalars have no rows");
  std::int64_t rows = 0;
  for (int i = 0; i < inputs.count(); ++i) {
    const Shape& shape = inputs.shape(i);
    if (shape.rank() != first.rank() || shape.with_dim(0, first[0]) != first) {
      inputs.fail(fmt::format("shapes {} and {} differ in more than their rows", first.to_string(),
                              shape.to_string()));
    }
    if (__builtin_add_overflow(rows, shape[0], &rows)) inputs.fail("is too large");
  }
  return {{dtype, first.with_dim(0, rows)}};
}

const OpDef kJoinRows = {
    .name = "join_rows",
    .family = "shape",
    .summary = "tensors one after another along the first dimension, cast to a dtype",
    .variadic = true,
    .types = join_rows_types,
    .gradient =
        [](GradientContext& g) {
          std::vector<std::int64_t> rows;
          for (int i = 0; i < g.input_count(); ++i) rows.push_back(g.input_type(i).shape[0]);
          const std::vector<Tensor> parts = split(g.grad(), rows, 0);
          for (int i = 0; i < g.input_count(); ++i) {
            if (g.needs(i))
              g.set(i, cast(parts[static_cast<std::size_t>(i)], g.input_type(i).dtype));
          }
        },
    .cheap = true,
};

constexpr std::array kJoinRowsOps = {&kJoinRows};
const RegisterOps kJoinRowsRegistered(kJoinRowsOps);

}  // namespace

Tensor join_rows(const std::vector<Tensor>& tensors, DType dtype) {
  if (tensors.empty()) throw InvalidArgument("[join_rows] there are no tensors");
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) throw InvalidArgument("[join_rows] an input is undefined");
  }
  return call(kJoinRows, tensors, {{"dtype", dtype}}).front();
}

}  // namespace plimsoll::ops
