#pragma once

#include <cstdint>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

namespace plimsoll::cpu {

/// body<Index>() for i32 or i64.
template <typename Body>
void with_index(DType dtype, Body&& body) {
  if (dtype == DType::i32) return body.template operator()<std::int32_t>();
  body.template operator()<std::int64_t>();
}

/// How ids are grouped: `size` of them in a row share a gradient, and some are padding.
struct Bags {
  std::int64_t size = 1;
  bool padded = false;
  std::int64_t padding_id = 0;

  /// Those of an op with the attribute "padding_id"; without it every id stands alone.
  static Bags of(const ops::Attributes& attributes, const Shape& ids) {
    if (!attributes.has("padding_id")) return {};
    const std::int64_t padding = attributes.integer("padding_id");
    return {.size = ids.dim(-1), .padded = padding >= 0, .padding_id = padding};
  }
  bool skips(std::int64_t id) const { return padded && id == padding_id; }
};

/// InvalidArgument naming the first index that is neither in [0, extent) nor padding.
template <typename Index>
void check_indices(const ops::TensorView& indices, std::int64_t axis, std::int64_t extent,
                   const char* op, const Bags& bags = {}) {
  const Index* at = indices.as<const Index>();
  for (std::int64_t i = 0; i < indices.elements(); ++i) {
    if ((at[i] < 0 || at[i] >= extent) && !bags.skips(at[i])) {
      throw InvalidArgument(
          fmt::format("[{}] index {} at position {} is outside dimension {}, which has {} elements",
                      op, at[i], i, axis, extent));
    }
  }
}

}  // namespace plimsoll::cpu
