#pragma once

#include <string>
#include <vector>

#include <plimsoll/ops/attributes.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::test {

/// An op with given inputs and the outputs that NumPy or TensorFlow gave.
struct OpCase {
  std::string op;
  std::string description;
  ops::Attributes attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  bool gradient = true;
  std::vector<std::size_t> gradient_outputs;  ///< those that are differentiated; empty: all
  bool dtypes = true;
  double tolerance = 1;
  std::vector<std::size_t> wide;  ///< inputs that are f32 where input 0 is a 16-bit float
};

/// All cases of tests/ops/recorded, on a host device that lives as long as they do.
const std::vector<OpCase>& op_cases();
const Device& op_cases_device();

/// The elements as doubles, whatever the dtype.
std::vector<double> as_doubles(const Tensor& tensor);
/// A tensor of `dtype` with these elements, rounded.
Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype);

}  // namespace plimsoll::test
