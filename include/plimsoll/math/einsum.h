#pragma once

#include <string_view>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::math {

/// Sums of products by Einstein's convention: einsum("bij,bjk->bik", {a, b}). Letters name
/// dimensions; those that the result lacks are summed over. Without "->" the result has the letters
/// that occur once, in alphabetical order.
///
/// Operands are joined from left to right, each pair by one product of matrices; everything else is
/// transposes, reshapes and sums. InvalidArgument, naming the letter or the operand, for extents
/// that do not agree, for a letter twice in one operand (take the diagonal first) and for "...".
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace plimsoll::math
