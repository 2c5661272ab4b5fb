#pragma once

#include <string_view>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::math {

/// Sums of products by Einstein's convention: einsum("bij,bjk->bik", {a, b}). Letters name
/// dimensions; those that the result lacks are summed over. A letter twice in one operand stands
/// for the diagonal: "ii->i". "..." stands for any further dimensions, which are aligned at their
/// ends and broadcast: "...ij,...jk->...ik". Without "->" the result has those of "..." in front,
/// then the letters that occur once, in alphabetical order.
///
/// Operands are joined from left to right, each pair by one product of matrices; everything else is
/// transposes, reshapes, slices and sums. InvalidArgument, naming the letter or the operand, for
/// extents that do not agree.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace plimsoll::math
