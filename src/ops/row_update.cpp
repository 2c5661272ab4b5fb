// The steps of optimizers for rows of a table: those that were read, each updated once.
#include <plimsoll/ops/row_update.h>

#include <algorithm>
#include <array>

#include <plimsoll/ops/scatter_workspace.h>

#include "ops/update_inputs.h"

namespace plimsoll::ops {
namespace {

/// Inputs: the table, `states` tensors like it, ids, the gradient of what was read by them,
/// `scalars` f32 scalars and, where it is given, the bool scalar without which nothing is written.
/// With the attribute "padding_id" the gradient is that of embedding_bag: one row for all ids of
/// the last dimension, without those that are padding.
std::vector<TensorType> row_types(const OpInputs& inputs, int states, int scalars) {
  require_states(inputs, states);
  const int ids = states + 1;
  const int rows = states + 2;
  if (inputs.dtype(ids) != DType::i64 && inputs.dtype(ids) != DType::i32) {
    inputs.fail("ids must be i64 or i32; cast them");
  }
  const Shape& table = inputs.shape(0);
  if (table.rank() == 0) inputs.fail("a scalar has no rows");
  const Shape& read = inputs.shape(rows);
  const Shape& at = inputs.shape(ids);
  const bool bags = inputs.attributes().has("padding_id");
  if (bags && (at.rank() == 0 || at.dim(-1) == 0)) inputs.fail("bags must have 1 id or more");
  const int own = at.rank() - (bags ? 1 : 0);
  if (read.rank() != own + table.rank() - 1 ||
      !std::equal(at.begin(), at.begin() + own, read.begin()) ||
      !std::equal(table.begin() + 1, table.end(), read.begin() + own)) {
    inputs.fail("the gradient must have the ids' shape and that of a row behind it");
  }
  require_gradient_dtype(inputs, rows);
  require_scalars(inputs, rows + 1, scalars);
  if (inputs.attributes().number("weight_decay") != 0) {
    inputs.fail("rows that were not read cannot decay: weight_decay must be 0");
  }
  return std::vector<TensorType>(static_cast<std::size_t>(states) + 1, inputs[0]);
}
template <int States, int Scalars>
std::vector<TensorType> row_types_with(const OpInputs& inputs) {
  return row_types(inputs, States, Scalars);
}

/// As if no id came twice. Gradients are read twice: to find those that are 0, and to be added.
template <int States, int FlopsEach>
Cost row_cost(const OpInputs& inputs, std::span<const TensorType>) {
  constexpr double kSortBytes = 64;  // for each id
  const std::int64_t count = std::max<std::int64_t>(inputs.shape(0)[0], 1);
  const auto ids = static_cast<double>(inputs[States + 1].elements());
  const std::int64_t row = inputs[0].elements() / count;
  const double elements = ids * static_cast<double>(row);
  const auto master = static_cast<double>(dtype_size(inputs.dtype(0)));
  const auto narrow = static_cast<double>(dtype_size(inputs.dtype(States + 2)));
  return {.flops = (FlopsEach + 1) * elements,
          .bytes = elements * (master * 2 * (States + 1) + narrow) +
                   static_cast<double>(inputs[States + 2].bytes()) + kSortBytes * ids};
}

template <int States>
Bytes row_workspace(const OpInputs& inputs, std::span<const TensorType>) {
  return ScatterWorkspace::of(inputs[States + 1].elements(), 0).total();
}

template <int States, int Scalars, int FlopsEach>
constexpr OpDef row_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .family = "update",
          .summary = summary,
          .inputs = 3 + States + Scalars,
          .optional_inputs = 1,
          .dtypes = kMasters,
          .types = row_types_with<States, Scalars>,
          .cost = row_cost<States, FlopsEach>,
          .workspace = row_workspace<States>,
          .writes = (2U << States) - 1,
          .precision = Precision::keep,
          .update = true};
}

constexpr OpDef kSgdRows =
    row_op<0, 1, 4>("sgd_update_rows", "a step of gradient descent for rows that were read");
constexpr OpDef kAdagradRows =
    row_op<1, 2, 9>("adagrad_update_rows", "a step of Adagrad for rows that were read");
constexpr OpDef kLazyAdamRows =
    row_op<2, 2, 14>("lazy_adam_update_rows", "a step of Adam for rows that were read");

constexpr std::array kRowUpdateOps = {&kSgdRows, &kAdagradRows, &kLazyAdamRows};
const RegisterOps kRowUpdateRegistered(kRowUpdateOps);

}  // namespace

void sgd_update_rows(const Tensor& table, const Tensor& ids, const Tensor& rows, const Tensor& rate,
                     const Tensor& enable) {
  run_update(kSgdRows, {table, ids, rows, rate, enable}, {{"weight_decay", 0.0}});
}

void adagrad_update_rows(const Tensor& table, const Tensor& sum, const Tensor& ids,
                         const Tensor& rows, const Tensor& rate, const Tensor& step,
                         const AdagradOptions& options, const Tensor& enable) {
  run_update(kAdagradRows, {table, sum, ids, rows, rate, step, enable}, attributes_of(options));
}

void lazy_adam_update_rows(const Tensor& table, const Tensor& first, const Tensor& second,
                           const Tensor& ids, const Tensor& rows, const Tensor& rate,
                           const Tensor& step, const AdamOptions& options, const Tensor& enable) {
  run_update(kLazyAdamRows, {table, first, second, ids, rows, rate, step, enable},
             attributes_of(options));
}

}  // namespace plimsoll::ops
