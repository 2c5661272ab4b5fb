#pragma once

#include <string>
#include <vector>

#include <plimsoll/ops/attributes.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::test {

/// An op with given inputs and the outputs that NumPy, TensorFlow or PyTorch gave.
struct OpCase {
  std::string op;
  std::string description;
  ops::Attributes attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  bool gradient = true;                       ///< it is differentiated; false where it has a kink
  std::vector<std::size_t> gradient_outputs;  ///< those that are differentiated; empty: all
  bool dtypes = true;
  double tolerance = 1;
  std::vector<std::size_t> wide;  ///< inputs that are f32 where input 0 is a 16-bit float
};

/// Cases that stand in a source, tests/ops/cases/<op>.cpp: those of an op that needs few numbers.
/// They are in f64, on op_cases_device().
struct RegisterOpCases {
  explicit RegisterOpCases(std::vector<OpCase> (*make)());
};

/// All cases of tests/ops/recorded and tests/ops/cases, on a host device that lives as long as they
/// do.
const std::vector<OpCase>& op_cases();
const Device& op_cases_device();

/// The dtypes besides the recorded one that a case is tried in, of those the op claims.
std::vector<DType> other_dtypes(const ops::OpDef& def, const OpCase& c);
/// The inputs of a case in `dtype`, and the same rounded numbers in the recorded one.
struct NarrowInputs {
  std::vector<Tensor> narrow;
  std::vector<Tensor> wide;
};
NarrowInputs in_dtype(const OpCase& c, DType dtype);

struct KernelRun {
  ops::RandomKey random = {};
  const ops::KernelState* state = nullptr;  ///< what was prepared; null: it is prepared for the run
};
/// Runs the op's kernel on `device` with its outputs in `outputs`, which may be among `inputs`, and
/// with a workspace that is poisoned (see poisoned.h).
void run_kernel(const ops::OpDef& def, const ops::Attributes& attributes,
                std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, const Device& device,
                const KernelRun& how = {});
/// Runs it into poisoned memory and returns the outputs, on `device`: an element that the kernel
/// does not write is all ones. For ops that write none of their inputs, and not for views.
std::vector<Tensor> run_poisoned(const ops::OpDef& def, const ops::Attributes& attributes,
                                 const std::vector<Tensor>& inputs, const Device& device,
                                 const KernelRun& how = {});

/// The elements as doubles, whatever the dtype.
std::vector<double> as_doubles(const Tensor& tensor);
/// A tensor of `dtype` with these elements, rounded.
Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype);

}  // namespace plimsoll::test
