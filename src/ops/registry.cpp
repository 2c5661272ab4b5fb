#include <unordered_map>
#include <vector>

#include "ops/families.h"

namespace plimsoll::ops {
namespace {

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> ops;
  for (const Family family : {elementwise_unary_ops(),
                              elementwise_math_ops(),
                              elementwise_activation_ops(),
                              elementwise_binary_ops(),
                              cast_ops(),
                              reduce_ops(),
                              matmul_ops(),
                              shape_ops(),
                              concat_split_ops(),
                              pad_slice_ops(),
                              random_ops(),
                              update_ops(),
                              compare_ops(),
                              select_ops(),
                              reduce_index_ops(),
                              convolution_ops(),
                              pooling_ops(),
                              normalize_ops(),
                              batch_norm_ops(),
                              dropout_ops(),
                              softmax_ops(),
                              cross_entropy_ops(),
                              linear_cross_entropy_ops(),
                              attention_ops(),
                              self_attention_ops(),
                              gather_ops(),
                              optimizer_update_ops()}) {
    ops.insert(ops.end(), family.begin(), family.end());
  }
  return ops;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = collect();
  return ops;
}

const OpDef* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops()) map.emplace(op->name, op);
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

}  // namespace plimsoll::ops
