// join_rows: what concat(cast(...), 0) gives, from every float to every float.
#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

/// Rows of 5, as the elements from `first` on: eighths from -2 to 2, exact in every float.
std::vector<double> eighths(std::int64_t rows, std::int64_t first) {
  std::vector<double> values;
  for (std::int64_t i = 5 * first; i < 5 * (first + rows); ++i) {
    values.push_back(0.125 * static_cast<double>(i * 7 % 33 - 16));
  }
  return values;
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  // Parts of a multiple of 8 elements and others, and one without rows.
  for (const auto& rows :
       {std::vector<std::int64_t>{8, 16, 24}, std::vector<std::int64_t>{3, 0, 1, 2},
        std::vector<std::int64_t>{0, 0}}) {
    for (const DType from : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      for (const DType to : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
        OpCase c{.op = "join_rows", .attributes = {{"dtype", to}}};
        std::vector<double> all;
        std::int64_t count = 0;
        for (const std::int64_t r : rows) {
          const std::vector<double> part = eighths(r, count);
          c.inputs.push_back(from_doubles(part, {r, 5}, from));
          all.insert(all.end(), part.begin(), part.end());
          count += r;
        }
        c.outputs.push_back(from_doubles(all, {count, 5}, to));
        c.dtypes = false;
        c.gradient = from == DType::f64 && to == DType::f64;
        cases.push_back(c);
      }
    }
  }
  // Rounded once, to the nearest: 1 + 2^-8 is halfway between two of bf16's numbers.
  const double half = 1 + 0x1p-8;
  cases.push_back({.op = "join_rows",
                   .attributes = {{"dtype", DType::bf16}},
                   .inputs = {from_doubles({half, half + 0x1p-20}, {2}, DType::f32),
                              from_doubles({-half}, {1}, DType::f32)},
                   .outputs = {from_doubles({1, 1 + 0x1p-7, -1}, {3}, DType::bf16)},
                   .gradient = false});
  cases.back().dtypes = false;
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
