#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll::test {

/// For tests of single ops on a GPU with shapes that recorded cases are too small for. The CPU in
/// f32 is the reference.
class MatricesOnGpu : public OnGpu {
 protected:
  static Tensor converted(const Tensor& t, DType dtype) {
    if (!is_floating(t.dtype()) || t.dtype() == dtype) return t;
    return from_doubles(as_doubles(t), t.shape(), dtype);
  }

  static std::vector<Tensor> run(const std::string& op, const std::vector<Tensor>& inputs,
                                 const ops::Attributes& attributes, const Device& device) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(input.clone(device, {}));
    std::vector<Tensor> back;
    for (const Tensor& output : ops::call(*ops::find_op(op), there, attributes)) {
      back.push_back(output.clone(op_cases_device(), {}));
    }
    return back;
  }

  /// `op` on inputs rounded to `dtype`, but for those that `keep` names; `share` of the largest
  /// value may be off, besides the dtype's own rounding. Twice for the same bits, the second time
  /// into memory that is all NaNs.
  static void check(const std::string& op, const std::vector<Tensor>& inputs,
                    const ops::Attributes& attributes, DType dtype, std::uint32_t keep = 0,
                    double share = 0) {
    SCOPED_TRACE(
        fmt::format("{} of {} in {}", op, inputs.front().shape().to_string(), dtype_name(dtype)));
    std::vector<Tensor> narrow;
    std::vector<Tensor> wide;
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      narrow.push_back((keep >> i & 1U) != 0 ? inputs[i] : converted(inputs[i], dtype));
      wide.push_back(converted(narrow.back(), dtype == DType::f64 ? DType::f64 : DType::f32));
      types.push_back(narrow.back().type());
    }
    const auto expected = run(op, wide, attributes, op_cases_device());
    const auto actual = run(op, narrow, attributes, gpu());
    const ops::OpDef& def = *ops::find_op(op);
    const ops::OpInputs signature(def, types, attributes);
    const auto outputs = def.types(signature);
    const DeviceScope current(gpu());
    const ops::Kernel& kernel = *ops::kernels_of("cuda").find(def);
    const auto state = kernel.prepare != nullptr ? kernel.prepare(signature, outputs) : nullptr;
    const auto again = run_poisoned(def, attributes, narrow, gpu(), {.state = state.get()});
    ASSERT_EQ(actual.size(), expected.size());
    ASSERT_EQ(again.size(), actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const Tensor back = again[i].clone(op_cases_device(), {});
      EXPECT_TRUE(same_bits(actual[i], back)) << "output " << i << " twice";
      expect_near(as_doubles(actual[i]), as_doubles(expected[i]), 4 * allowed(dtype) + share,
                  fmt::format("output {}", i));
    }
    if (state == nullptr) return;
    // What it takes is what a plan without a GPU has for it.
    Bytes planned = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
    if (def.workspace != nullptr) planned = std::max(planned, def.workspace(signature, outputs));
    EXPECT_LE(state->workspace, planned);
    RecordProperty(fmt::format("workspace of {}", op), std::to_string(state->workspace));
  }

  /// The kernel alone, in memory full of NaNs: what lay there before does not matter, and what lies
  /// behind outputs and workspace stays as it is.
  static void check_memory(const std::string& op, const std::vector<Tensor>& inputs,
                           const ops::Attributes& attributes) {
    SCOPED_TRACE(fmt::format("{} of {} in {}", op, inputs.front().shape().to_string(),
                             dtype_name(inputs.front().dtype())));
    constexpr Bytes kBehind = KiB(64);
    constexpr std::uint8_t kBefore = 0xFF;
    const auto expected = run(op, inputs, attributes, gpu());
    std::vector<Tensor> there;
    std::vector<TensorType> types;
    std::vector<ops::TensorView> in;
    for (const Tensor& input : inputs) {
      there.push_back(input.clone(gpu(), {}));
      types.push_back(input.type());
      in.push_back({there.back().raw_mutable_data(), input.type()});
    }
    const ops::OpDef& def = *ops::find_op(op);
    const ops::OpInputs signature(def, types, attributes);
    const auto outputs = def.types(signature);
    const DeviceScope current(gpu());
    const ops::Kernel& kernel = *ops::kernels_of("cuda").find(def);
    const auto state = kernel.prepare(signature, outputs);
    std::vector<Bytes> sizes;
    for (const TensorType& type : outputs) sizes.push_back(type.bytes());
    sizes.push_back(state->workspace);
    std::vector<Tensor> memory;
    for (const Bytes size : sizes) {
      const std::vector<std::uint8_t> before(size + kBehind, kBefore);
      memory.push_back(Tensor::from_values(std::span<const std::uint8_t>(before),
                                           {static_cast<std::int64_t>(before.size())}, gpu()));
    }
    std::vector<ops::TensorView> out;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      out.push_back({memory[i].raw_mutable_data(), outputs[i]});
    }
    kernel.run({.outputs = out,
                .inputs = in,
                .attributes = attributes,
                .state = state.get(),
                .workspace = memory.back().raw_mutable_data(),
                .queue = gpu().queue(kHostStream)});
    gpu().synchronize();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const Tensor after = memory[i].clone(op_cases_device(), {});
      const auto* bytes = after.data<std::uint8_t>();
      if (i < outputs.size()) {
        EXPECT_EQ(std::memcmp(bytes, expected[i].raw_data(), sizes[i]), 0) << "output " << i;
      }
      EXPECT_TRUE(std::all_of(bytes + sizes[i], bytes + sizes[i] + kBehind,
                              [](std::uint8_t byte) { return byte == kBefore; }))
          << "behind " << (i < outputs.size() ? "output " + std::to_string(i) : "the workspace");
    }
  }
};

}  // namespace plimsoll::test
