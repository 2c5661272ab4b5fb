// Every registered op on the GPU, with the CPU as its reference: the recorded cases in each dtype,
// in place, twice for the same bits, differentiated, and larger shapes.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/tape.h>

#include "ops/eager.h"
#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

using ops::OpDef;
using test::allowed;
using test::as_doubles;
using test::expect_near;
using test::from_doubles;
using test::OpCase;

/// Why there is no GPU to test; empty if there is one.
std::string no_gpu() {
  std::string why;
  return find_backend("cuda")->count(why) == 0 ? why : "";
}

const Device& gpu() {
  static const Device device = test::own_device("cuda:0", {.limit = GiB(8)});
  return device;
}

std::vector<Tensor> on_gpu(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> moved;
  for (const Tensor& t : tensors) moved.push_back(t.clone(gpu(), {}));
  return moved;
}

std::vector<Tensor> on_host(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> moved;
  for (const Tensor& t : tensors) moved.push_back(t.clone(test::op_cases_device(), {}));
  return moved;
}

std::vector<Tensor> call_on_gpu(const OpDef& def, const std::vector<Tensor>& inputs,
                                const ops::Attributes& attributes) {
  const ops::EagerDeviceScope device(gpu());  // for ops without inputs
  return ops::call(def, on_gpu(inputs), attributes);
}

/// Rounding differs between two ways to sum: a little more room than against the recording.
double room(DType dtype, const OpCase& c) { return 4 * allowed(dtype) * c.tolerance; }

/// Floats within `share` of the largest; whole numbers must agree.
void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                 double share, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  const std::vector<Tensor> values = on_host(actual);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].type().shape, expected[i].type().shape);
    expect_near(as_doubles(values[i]), as_doubles(expected[i]),
                is_floating(actual[i].dtype()) ? share : 0, fmt::format("output {} {}", i, what));
  }
}

void check_dtypes(const OpDef& def, const OpCase& c) {
  expect_same(
      call_on_gpu(def, c.inputs, c.attributes), ops::call(def, on_host(c.inputs), c.attributes),
      c.inputs.empty() ? 1e-6 : std::max(1e-9, room(c.inputs.front().dtype(), c)), "as on the CPU");
  for (const DType dtype : test::other_dtypes(def, c)) {
    const auto [narrow, wide] = test::in_dtype(c, dtype);
    expect_same(call_on_gpu(def, narrow, c.attributes), ops::call(def, wide, c.attributes),
                std::max(allowed(dtype), 1e-9) * 2 * c.tolerance,
                fmt::format("in {}", dtype_name(dtype)));
  }
}

/// The second time into memory that is all NaNs, so that what a kernel does not write shows.
void check_twice(const OpDef& def, const std::vector<Tensor>& inputs,
                 const ops::Attributes& attributes) {
  const auto once = on_host(call_on_gpu(def, inputs, attributes));
  const auto again =
      on_host(def.view || def.writes != 0 ? call_on_gpu(def, inputs, attributes)
                                          : test::run_poisoned(def, attributes, inputs, gpu()));
  ASSERT_EQ(again.size(), once.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_TRUE(test::same_bits(once[i], again[i])) << "output " << i << " twice";
  }
}

void check_twice(const OpDef& def, const OpCase& c) {
  check_twice(def, c.inputs, c.attributes);
  for (const DType dtype : test::other_dtypes(def, c)) {
    SCOPED_TRACE(dtype_name(dtype));
    check_twice(def, test::in_dtype(c, dtype).narrow, c.attributes);
  }
}

void check_in_place(const OpDef& def, const OpCase& c) {
  if (def.in_place.empty() || def.writes != 0) return;
  const auto expected = call_on_gpu(def, c.inputs, c.attributes);
  for (const ops::InPlace& pair : def.in_place) {
    const auto written = static_cast<std::size_t>(pair.output);
    const auto over = static_cast<std::size_t>(pair.input);
    if (over >= c.inputs.size() || expected[written].type() != c.inputs[over].type()) continue;
    if (expected[written].elements() == 0) continue;
    std::vector<Tensor> inputs = on_gpu(c.inputs);
    std::vector<Tensor> outputs = on_gpu(expected);
    outputs[written] = inputs[over];
    test::run_kernel(def, c.attributes, inputs, outputs, gpu());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(test::same_bits(on_host({outputs[i]})[0], on_host({expected[i]})[0]))
          << "output " << i << " with output " << written << " over input " << over;
    }
  }
}

/// Gradients of the sum of all floating outputs, by every floating input.
std::vector<Tensor> gradients(const OpDef& def, const OpCase& c, const Device& device) {
  const ops::EagerDeviceScope scope(device);
  std::vector<Tensor> inputs;
  std::vector<Tensor> sources;
  ops::GradientTape tape({.persistent = true});
  for (const Tensor& input : c.inputs) {
    const bool floating = is_floating(input.dtype());
    const Tensor narrow =
        floating && c.dtypes ? from_doubles(as_doubles(input), input.shape(), DType::f32) : input;
    inputs.push_back(narrow.clone(device, {}));
    if (!floating) continue;
    tape.watch(inputs.back());
    sources.push_back(inputs.back());
  }
  const auto outputs = ops::call(def, inputs, c.attributes);
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& only = c.gradient_outputs;
    if (!is_floating(outputs[i].dtype())) continue;
    if (!only.empty() && std::find(only.begin(), only.end(), i) == only.end()) continue;
    const Tensor weights = test::random_tensor(outputs[i].shape(), 7 + i, outputs[i].dtype());
    for (const Tensor& part : tape.gradient(outputs[i], sources, weights.clone(device, {}))) {
      if (part.defined()) all.push_back(part);
    }
  }
  return all;
}

void check_gradient(const OpDef& def, const OpCase& c) {
  if (!c.gradient || def.gradient == nullptr || !def.dtypes.has(DType::f32)) return;
  if (c.inputs.empty() || c.inputs.front().elements() == 0) return;
  expect_same(gradients(def, c, gpu()), gradients(def, c, test::op_cases_device()),
              20 * allowed(DType::f32) * c.tolerance, "of the gradient");
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef* op : ops::all_ops()) names.emplace_back(op->name);
  return names;
}

/// Those without kernels of their own for GPUs: LAPACK's, and CTC.
const std::set<std::string_view> kOnTheHostAlone = {"cholesky", "ctc_loss", "ctc_loss_grad",
                                                    "solve",    "svd",      "triangular_solve"};

class OpOnGpu : public ::testing::TestWithParam<std::string> {};

TEST_P(OpOnGpu, IsAsOnTheCpu) {
  if (const std::string why = no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const OpDef& def = *ops::find_op(GetParam());
  if (kOnTheHostAlone.count(def.name) != 0) {
    EXPECT_EQ(ops::kernels_of("cuda").find(def), nullptr) << "it has a kernel now: compare it";
    GTEST_SKIP() << "computed on the host alone";
  }
  ASSERT_TRUE(def.view || ops::kernels_of("cuda").find(def) != nullptr) << "no kernel";
  if (def.random) GTEST_SKIP() << "its draws are compared by RandomDraws, in random_cuda_test.cpp";
  const ops::EagerDeviceScope device(test::op_cases_device());  // for ops without inputs
  for (const OpCase& c : test::op_cases()) {
    if (c.op != def.name) continue;
    SCOPED_TRACE(c.description);
    check_dtypes(def, c);
    check_twice(def, c);
    check_in_place(def, c);
    check_gradient(def, c);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpOnGpu, ::testing::ValuesIn(op_names()),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace plimsoll
