// Kernels stay within their outputs and their workspace, read nothing they did not write, and give
// the same bits wherever their tensors lie: for every recorded case in every dtype.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/kernel.h>

#include "support/op_cases.h"
#include "support/poisoned.h"

namespace plimsoll {
namespace {

using ops::Kernel;
using ops::KernelState;
using ops::OpDef;
using ops::OpInputs;
using ops::TensorView;
using test::OpCase;

constexpr std::size_t kGuard = 512;
constexpr auto kGuardByte = static_cast<std::byte>(0xA5);

/// Memory with guards around it, `shift` bytes after a multiple of 256, filled with `fill`.
class Guarded {
 public:
  Guarded(std::size_t size, std::size_t shift, std::byte fill)
      : bytes_(size + 2 * kGuard + 512, kGuardByte), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = kGuard + (256 - (address + kGuard) % 256) % 256 + shift;
    std::memset(data(), static_cast<int>(fill), size);
  }
  std::byte* data() { return bytes_.data() + begin_; }
  std::size_t size() const { return size_; }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < begin_ || i >= begin_ + size_) && bytes_[i] != kGuardByte) return false;
    }
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t size_;
};

/// The outputs of one run as bytes; `elements` shifts every tensor by that many of its elements.
std::vector<std::vector<std::byte>> run(const Kernel& kernel, const OpDef& def,
                                        const std::vector<Tensor>& inputs,
                                        const ops::Attributes& attributes, std::size_t elements,
                                        std::byte fill) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const OpInputs signature(def, types, attributes);
  const std::vector<TensorType> out_types = def.types(signature);
  const auto state = kernel.prepare != nullptr ? kernel.prepare(signature, out_types) : nullptr;

  std::vector<Guarded> memory;
  memory.reserve(inputs.size() + out_types.size() + 1);
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  for (const Tensor& input : inputs) {
    const Tensor dense = input.contiguous();
    memory.emplace_back(dense.nbytes(), elements * dtype_size(input.dtype()), fill);
    if (dense.nbytes() != 0) std::memcpy(memory.back().data(), dense.raw_data(), dense.nbytes());
    in.push_back({memory.back().data(), input.type()});
  }
  bool work = false;
  for (const TensorType& type : out_types) {
    memory.emplace_back(type.bytes(), elements * dtype_size(type.dtype), fill);
    out.push_back({memory.back().data(), type});
    work = work || type.elements() != 0;
  }
  memory.emplace_back(state == nullptr ? 0 : state->workspace, 0, fill);
  if (work) {
    kernel.run({.outputs = out,
                .inputs = in,
                .attributes = attributes,
                .state = state.get(),
                .workspace = memory.back().data()});
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_TRUE(memory[i].intact())
        << "wrote outside of "
        << (i + 1 == memory.size() ? "its workspace" : (i < in.size() ? "an input" : "an output"));
  }
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Guarded& output = memory[in.size() + i];
    results.emplace_back(output.data(), output.data() + output.size());
  }
  return results;
}

TEST(Kernels, StayWithinTheirMemoryWhereverItLies) {
  for (const OpCase& c : test::op_cases()) {
    const OpDef* def = ops::find_op(c.op);
    if (def == nullptr || def->writes != 0 || def->view || def->random || c.inputs.empty())
      continue;
    const Kernel* kernel = ops::kernels_of("cpu").find(*def);
    if (kernel == nullptr) continue;
    const DType recorded = c.inputs.front().dtype();
    for (const DType dtype : kDTypes) {
      if (dtype != recorded &&
          (!c.dtypes || !def->dtypes.has(dtype) || !is_floating(dtype) || !is_floating(recorded))) {
        continue;
      }
      SCOPED_TRACE(c.description + " in " + std::string(dtype_name(dtype)));
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        const Tensor& input = c.inputs[i];
        const bool follows = is_floating(input.dtype()) && is_floating(recorded);
        const bool stays_wide = std::find(c.wide.begin(), c.wide.end(), i) != c.wide.end();
        const DType own = stays_wide ? std::min(dtype, DType::f32) : dtype;
        inputs.push_back(follows ? test::from_doubles(test::as_doubles(input), input.shape(), own)
                                 : input);
      }
      const auto once = run(*kernel, *def, inputs, c.attributes, 0, std::byte{0});
      // All ones is a NaN in every floating dtype.
      const auto shifted = run(*kernel, *def, inputs, c.attributes, 1, std::byte{0xFF});
      EXPECT_EQ(once, shifted);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(PoisonedMemory, TellsWhenItsSurroundingsAreWritten) {
  const TensorType type{DType::f32, {3}};
  for (const std::ptrdiff_t at : {-512, -1, 12, 16, 511}) {
    EXPECT_NONFATAL_FAILURE(
        {
          const test::Poisoned memory(test::op_cases_device(), type.bytes());
          static_cast<std::byte*>(memory.data())[at] = std::byte{0};
          memory.expect_intact("an output");
        },
        at < 0 ? "before an output" : "behind the end of an output");
  }
  const test::Poisoned memory(test::op_cases_device(), type.bytes());
  Tensor inside = memory.tensor(type);
  for (const float value : inside.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
  std::memset(inside.raw_mutable_data(), 0, inside.nbytes());
  memory.expect_intact("an output");
}

}  // namespace
}  // namespace plimsoll
