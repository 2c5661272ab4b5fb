#pragma once

#include <cstdint>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// Sums of slices of `table` [count, ...] over bags of ids [..., bag] (i32 or i64), in the order of
/// the bag: the ids' shape without its last dimension, then that of a row. Ids equal to
/// `padding_id` add nothing; below 0 there are none. An id outside the table is an InvalidArgument;
/// a GPU gives NaN.
Tensor embedding_bag(const Tensor& table, const Tensor& ids, std::int64_t padding_id = -1);

}  // namespace plimsoll::ops
