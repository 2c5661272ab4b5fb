// embedding_bag and its gradient beside the same written out.
#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

using Values = std::vector<double>;

Tensor floats(const Values& values, const Shape& shape) {
  return from_doubles(values, shape, DType::f64);
}
Tensor ids(const Values& values, const Shape& shape) {
  return from_doubles(values, shape, DType::i64);
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  const Tensor table = floats({1, 2, -3, 4, 0.5, -0.25, 8, 16}, {4, 2});
  const Tensor three = ids({1, 3, 0, 2, 2, 0}, {2, 3});
  return {
      {.op = "embedding_bag",
       .description = "all count",
       .attributes = {{"padding_id", std::int64_t{-1}}},
       .inputs = {table, three},
       .outputs = {floats({6, 22, 2, 1.5}, {2, 2})}},
      {.op = "embedding_bag",
       .description = "0 is padding",
       .attributes = {{"padding_id", std::int64_t{0}}},
       .inputs = {table, ids({1, 3, 0, 0, 0, 0}, {2, 3})},
       .outputs = {floats({5, 20, 0, 0}, {2, 2})}},
      {.op = "embedding_bag",
       .description = "no bags",
       .attributes = {{"padding_id", std::int64_t{0}}},
       .inputs = {table, ids({}, {0, 3})},
       .outputs = {floats({}, {0, 2})}},
      {.op = "embedding_bag_grad",
       .description = "all count",
       .attributes = {{"shape", std::vector<std::int64_t>{4, 2}}, {"padding_id", std::int64_t{-1}}},
       .inputs = {floats({1, 2, 4, -8}, {2, 2}), three},
       .outputs = {floats({5, -6, 1, 2, 8, -16, 1, 2}, {4, 2})}},
      {.op = "embedding_bag_grad",
       .description = "2 is padding",
       .attributes = {{"shape", std::vector<std::int64_t>{4, 2}}, {"padding_id", std::int64_t{2}}},
       .inputs = {floats({1, 2, 4, -8}, {2, 2}), three},
       .outputs = {floats({5, -6, 1, 2, 0, 0, 1, 2}, {4, 2})}},
      {.op = "embedding_bag_grad",
       .description = "no bags",
       .attributes = {{"shape", std::vector<std::int64_t>{3, 2}}, {"padding_id", std::int64_t{0}}},
       .inputs = {floats({}, {0, 2}), ids({}, {0, 3})},
       .outputs = {floats({0, 0, 0, 0, 0, 0}, {3, 2})}},
  };
});

}  // namespace
}  // namespace plimsoll::test
