// gather, scatter_add, embedding_bag, one_hot: elements chosen by indices.
#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/embedding_bag.h>
#include <plimsoll/ops/scatter_workspace.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/axis.h"

namespace plimsoll::ops {
namespace {

constexpr DTypeSet kIndices = {DType::i64, DType::i32};

/// `shape` with the dimension `axis` replaced by those of `indices`.
Shape gathered_shape(const OpInputs& inputs, const Shape& shape, int axis, const Shape& indices) {
  if (shape.rank() - 1 + indices.rank() > kMaxRank) {
    inputs.fail(fmt::format("the result would have more than {} dimensions", kMaxRank));
  }
  std::vector<std::int64_t> dims(shape.begin(), shape.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), shape.begin() + axis + 1, shape.end());
  return Shape(std::span<const std::int64_t>(dims));
}

void require_indices(const OpInputs& inputs) {
  if (!kIndices.has(inputs.dtype(1))) inputs.fail("indices must be i64 or i32; cast them");
}

const OpDef kGather = {
    .name = "gather",
    .family = "gather",
    .summary = "slices of a dimension at indices",
    .inputs = 2,
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          require_indices(inputs);
          const Shape& shape = inputs.shape(0);
          const int axis = axis_of(inputs, shape.rank());
          return std::vector<TensorType>{
              {inputs.dtype(0), gathered_shape(inputs, shape, axis, inputs.shape(1))}};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, scatter_add(g.grad(), g.input(1), g.input_type(0).shape,
                               static_cast<int>(g.attributes().integer("axis"))));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 2}; },
    .cost = cost_of_moving_outputs,
    .cheap = true,
};

const OpDef kScatterAdd = {
    .name = "scatter_add",
    .family = "gather",
    .summary = "zeros to which slices are added at indices, in order of position",
    .inputs = 2,
    .dtypes = kNumbers,
    .types =
        [](const OpInputs& inputs) {
          require_indices(inputs);
          const Shape shape = inputs.attributes().shape("shape");
          const int axis = axis_of(inputs, shape.rank());
          const Shape expected = gathered_shape(inputs, shape, axis, inputs.shape(1));
          if (inputs.shape(0) != expected) {
            inputs.fail(fmt::format("updates must be {}", expected.to_string()));
          }
          return std::vector<TensorType>{{inputs.dtype(0), shape}};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, gather(g.grad(), g.input(1), static_cast<int>(g.attributes().integer("axis"))));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 2}; },
    .workspace =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          const auto axis = static_cast<int>(inputs.attributes().integer("axis"));
          return ScatterWorkspace::of(inputs[1].elements(), outputs[0].shape[axis]).total();
        },
};

/// The ids' shape without their last dimension, then that of a row.
Shape bags_shape(const OpInputs& inputs, const Shape& table, const Shape& ids) {
  if (table.rank() == 0 || ids.rank() == 0 || ids.dim(-1) == 0) {
    inputs.fail("the table must be [count, ...] and ids [..., bag] with a bag of 1 or more");
  }
  std::vector<std::int64_t> dims(ids.begin(), ids.end() - 1);
  dims.insert(dims.end(), table.begin() + 1, table.end());
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    inputs.fail(fmt::format("the result would have more than {} dimensions", kMaxRank));
  }
  return Shape(std::span<const std::int64_t>(dims));
}

extern const OpDef kEmbeddingBag;

const OpDef kEmbeddingBagGrad = {
    .name = "embedding_bag_grad",
    .family = "gather",
    .summary = "zeros to which the slice of each bag is added at all of its ids",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          require_indices(inputs);
          const Shape shape = inputs.attributes().shape("shape");
          const Shape expected = bags_shape(inputs, shape, inputs.shape(1));
          if (inputs.shape(0) != expected) {
            inputs.fail(fmt::format("the gradient must be {}", expected.to_string()));
          }
          return std::vector<TensorType>{{inputs.dtype(0), shape}};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kEmbeddingBag, {g.grad(), g.input(1)},
                            {{"padding_id", g.attributes().integer("padding_id")}}));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 2}; },
    .workspace =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          return ScatterWorkspace::of(inputs[1].elements(), outputs[0].shape[0]).total();
        },
};

const OpDef kEmbeddingBag = {
    .name = "embedding_bag",
    .family = "gather",
    .summary = "sums over bags of slices of the first dimension at ids",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          require_indices(inputs);
          return std::vector<TensorType>{
              {inputs.dtype(0), bags_shape(inputs, inputs.shape(0), inputs.shape(1))}};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kEmbeddingBagGrad, {g.grad(), g.input(1)},
                            {{"shape", to_integers(g.input_type(0).shape)},
                             {"padding_id", g.attributes().integer("padding_id")}}));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 2}; },
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          const auto bag = static_cast<double>(inputs.shape(1).dim(-1));
          return Cost{.flops = bag * static_cast<double>(outputs[0].elements()),
                      .bytes = (1 + bag) * static_cast<double>(outputs[0].bytes()) +
                               static_cast<double>(inputs[1].bytes())};
        },
};

const OpDef kOneHot = {
    .name = "one_hot",
    .family = "gather",
    .summary = "1 at the label, else 0",
    .dtypes = kIndices,
    .types =
        [](const OpInputs& inputs) {
          const std::int64_t classes = inputs.attributes().integer("classes");
          const DType dtype = inputs.attributes().dtype("dtype");
          if (classes < 0) inputs.fail(fmt::format("there cannot be {} classes", classes));
          if (!kAnyDType.has(dtype)) inputs.fail("cannot be bytes");
          const Shape& labels = inputs.shape(0);
          if (labels.rank() == kMaxRank) inputs.fail("there is no room for another dimension");
          return std::vector<TensorType>{{dtype, labels.with_inserted(labels.rank(), classes)}};
        },
    .cheap = true,
};

constexpr std::array kGatherOps = {&kGather, &kScatterAdd, &kEmbeddingBag, &kEmbeddingBagGrad,
                                   &kOneHot};

const RegisterOps kGatherRegistered(kGatherOps);

}  // namespace

Tensor gather(const Tensor& x, const Tensor& indices, int axis) {
  return call_one(kGather, {x, indices}, {{"axis", axis_from_front(axis, x.rank())}});
}

Tensor scatter_add(const Tensor& updates, const Tensor& indices, const Shape& shape, int axis) {
  return call_one(kScatterAdd, {updates, indices},
                  {{"shape", to_integers(shape)}, {"axis", axis_from_front(axis, shape.rank())}});
}

Tensor embedding(const Tensor& table, const Tensor& ids) {
  if (table.rank() != 2) {
    throw InvalidArgument(fmt::format("[embedding] the table must be [count, features], not {}",
                                      table.type().to_string()));
  }
  return gather(table, ids, 0);
}

Tensor embedding_bag(const Tensor& table, const Tensor& ids, std::int64_t padding_id) {
  return call_one(kEmbeddingBag, {table, ids}, {{"padding_id", padding_id}});
}

Tensor one_hot(const Tensor& labels, std::int64_t classes, DType dtype) {
  return call_one(kOneHot, {labels}, {{"classes", classes}, {"dtype", dtype}});
}

}  // namespace plimsoll::ops
