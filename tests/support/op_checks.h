#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::test {

/// Normally distributed numbers, the same for the same seed, on op_cases_device().
Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32);
/// 0, 1, ... modulo `below`, scattered, as i64.
Tensor random_indices(const Shape& shape, std::int64_t below, std::uint64_t seed);

/// Same dtype, shape and bytes.
bool same_bits(const Tensor& a, const Tensor& b);

/// What a result in `dtype` may differ by, as a share of the largest value around.
double allowed(DType dtype);
/// Fails the test, naming `what` and the first element that is further away than `share` of the
/// largest finite expected value.
void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double share, const std::string& what);

/// The largest absolute difference; infinite if shapes differ or a NaN stands alone.
double distance(const Tensor& a, const Tensor& b);

/// Runs `work` with one, two, three and seven threads and says whether all gave the same bits.
bool independent_of_threads(const std::function<std::vector<Tensor>()>& work);

/// What the InvalidArgument says that `work` throws; "" if it throws none.
std::string complaint(const std::function<void()>& work);

}  // namespace plimsoll::test
