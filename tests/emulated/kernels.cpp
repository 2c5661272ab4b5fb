// Kernels of GPUs, emulated on the host, beside the CPU's: random shapes, threads in three orders,
// arrays of which no byte more may be touched.
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <plimsoll/ops/convolution_shape.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/kernel.h>

#include "backend/cuda/kernels/attention_chunked.h"
#include "emulated/emulation.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace plimsoll {
namespace {

using emulation::Order;
using test::random_tensor;

constexpr std::array kOrders = {Order::forwards, Order::backwards, Order::random};

int from_environment(const char* name, int other) {
  const char* text = std::getenv(name);
  return text == nullptr ? other : std::atoi(text);
}

class Random {
 public:
  Random() : random_(static_cast<unsigned>(from_environment("PLIMSOLL_EMULATED_SEED", 1))) {}
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }
  bool once_in(std::int64_t times) { return below(times) == 0; }
  DType of(std::initializer_list<DType> dtypes) {
    return *(dtypes.begin() + below(static_cast<std::int64_t>(dtypes.size())));
  }

 private:
  std::mt19937_64 random_;
};

int rounds(int some) { return from_environment("PLIMSOLL_EMULATED_ROUNDS", some); }

/// Memory of exactly so many bytes: what goes beyond it is found by AddressSanitizer.
class Exact {
 public:
  void* make(Bytes bytes, const void* from) {
    void* at = std::aligned_alloc(256, align_up(std::max<Bytes>(bytes, 1), 256));
    all_.emplace_back(at, std::free);
    const Bytes spare = align_up(std::max<Bytes>(bytes, 1), 256) - bytes;
    ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(at) + bytes, spare);
    from != nullptr ? std::memcpy(at, from, bytes) : std::memset(at, 0xff, bytes);
    return at;
  }

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> all_;
};

constexpr int kNowhere = -1;

/// `over`: the input over which the first output is written.
std::vector<Tensor> run(const char* backend, const ops::OpDef& def,
                        const std::vector<Tensor>& inputs, const ops::Attributes& attributes,
                        int over = kNowhere) {
  std::vector<TensorType> in_types;
  for (const Tensor& input : inputs) in_types.push_back(input.type());
  const std::vector<TensorType> out_types = def.types({def, in_types, attributes});
  const ops::Kernel& kernel = *ops::kernels_of(backend).find(def);
  Exact exact;
  std::vector<ops::TensorView> in;
  std::vector<ops::TensorView> out;
  for (const Tensor& input : inputs) {
    in.push_back({exact.make(input.nbytes(), input.contiguous().raw_mutable_data()), input.type()});
  }
  for (std::size_t i = 0; i < out_types.size(); ++i) {
    if ((def.writes >> i & 1) != 0) {
      out.push_back(in[i]);
    } else if (over != kNowhere && i == 0) {
      out.push_back({in[static_cast<std::size_t>(over)].data, out_types[i]});
    } else {
      out.push_back({exact.make(out_types[i].bytes(), nullptr), out_types[i]});
    }
  }
  std::shared_ptr<const ops::KernelState> state;
  if (kernel.prepare != nullptr) state = kernel.prepare({def, in_types, attributes}, out_types);
  const Bytes workspace = state != nullptr ? state->workspace : 0;
  const Bytes planned = def.workspace ? def.workspace({def, in_types, attributes}, out_types) : 0;
  EXPECT_LE(workspace, std::max(planned, ops::kWorkspaceSlot - ops::kWorkspaceReserve)) << def.name;
  kernel.run({.outputs = out,
              .inputs = in,
              .attributes = attributes,
              .state = state.get(),
              .workspace = exact.make(workspace, nullptr)});
  std::vector<Tensor> results;
  for (const ops::TensorView& view : out) {
    results.push_back(Tensor::empty(view.shape(), view.dtype(), test::op_cases_device()));
    std::memcpy(results.back().raw_mutable_data(), view.data, view.type.bytes());
  }
  return results;
}

void check(const std::string& op, const std::vector<Tensor>& inputs,
           const ops::Attributes& attributes, double share) {
  const ops::OpDef& def = *ops::find_op(op);
  const auto expected = run("cpu", def, inputs, attributes);
  std::vector<Tensor> first;
  const auto expect_first = [&](const std::vector<Tensor>& results, const std::string& how) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(test::same_bits(results[i], first[i])) << op << ", output " << i << how;
    }
  };
  for (const Order order : kOrders) {
    emulation::order = order;
    const auto actual = run("emulated", def, inputs, attributes);
    if (!first.empty()) {
      expect_first(actual, " with threads in another order");
      continue;
    }
    first = actual;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      test::expect_near(test::as_doubles(actual[i]), test::as_doubles(expected[i]), share,
                        fmt::format("{}, output {}", op, i));
    }
  }
  emulation::order = Order::forwards;
  for (const ops::InPlace& pair : def.in_place) {
    const auto over = static_cast<std::size_t>(pair.input);
    if (pair.output != 0 || def.writes != 0 || over >= inputs.size()) continue;
    if (inputs[over].type() != first[0].type()) continue;
    expect_first(run("emulated", def, inputs, attributes, pair.input),
                 fmt::format(" over input {}", pair.input));
  }
}

void check_convolution(const ops::ConvOptions& options, const Shape& in, const Shape& weight,
                       DType dtype) {
  ops::Attributes attributes = ops::conv_attributes(options);
  const Tensor x = ops::cast(random_tensor(in, 1), dtype);
  const Tensor w = ops::cast(random_tensor(weight, 2), dtype);
  const Tensor bias = ops::cast(random_tensor({weight[0]}, 3), dtype);
  const ops::OpDef& def = *ops::find_op("conv2d");
  const std::array types = {x.type(), w.type()};
  const Tensor dy =
      ops::cast(random_tensor(def.types({def, types, attributes})[0].shape, 4), dtype);
  const double share = 4 * test::allowed(dtype);
  check("conv2d", {x, w}, attributes, share);
  check("conv2d", {x, w, bias}, attributes, share);
  attributes.set("shape", ops::to_integers(in));
  check("conv2d_transpose", {dy, w}, attributes, share);
  attributes.set("shape", ops::to_integers(weight));
  check("conv2d_weight_grad", {x, dy}, attributes, share);
}

TEST(EmulatedKernels, DepthwiseConvolutionsAreAsOnTheCpu) {
  Random random;
  for (int i = 0; i < rounds(30);) {
    const bool dense = random.once_in(2);
    const auto step = [&](std::int64_t most) { return dense ? 1 : random.from(1, most); };
    const std::int64_t kh = random.from(1, 8);
    const std::int64_t kw = random.once_in(2) ? 3 + 2 * random.below(3) : random.from(1, 9);
    const std::int64_t channels = random.once_in(4) ? 4 * random.from(1, 20) : random.from(2, 90);
    const ops::ConvOptions options{.stride = {step(4), step(4)},
                                   .padding = {.top = random.below(kh + 2),
                                               .bottom = random.below(kh + 2),
                                               .left = random.below(kw + 2),
                                               .right = random.below(kw + 2)},
                                   .dilation = {step(3), step(3)},
                                   .groups = channels,
                                   .layout = Layout::channels_last};
    const std::int64_t h = random.from(1, 20);
    const std::int64_t w = random.from(1, 30);
    if (h + options.padding.top + options.padding.bottom <= options.dilation[0] * (kh - 1) ||
        w + options.padding.left + options.padding.right <= options.dilation[1] * (kw - 1)) {
      continue;
    }
    ++i;
    const Shape in = ops::picture_shape(true, random.from(1, 3), channels, h, w);
    const DType dtype = random.of({DType::f32, DType::bf16, DType::f16});
    SCOPED_TRACE(fmt::format("{} of {} by {}x{}, {}", i, in.to_string(), kh, kw,
                             ops::conv_attributes(options).to_string()));
    check_convolution(options, in, {channels, 1, kh, kw}, dtype);
    if (HasFailure()) return;
  }
}

TEST(EmulatedKernels, DepthwiseWindowsMayHaveMorePixelsThanAGridIsDeep) {
  constexpr std::int64_t kWindow = 65600;
  ops::Attributes attributes = ops::conv_attributes({.groups = 2, .layout = Layout::channels_last});
  attributes.set("shape", ops::to_integers(Shape{2, 1, 1, kWindow}));
  const ops::OpDef& def = *ops::find_op("conv2d_weight_grad");
  const std::vector<Tensor> inputs = {random_tensor({1, 1, kWindow + 4, 2}, 1),
                                      random_tensor({1, 1, 5, 2}, 2)};
  test::expect_near(test::as_doubles(run("emulated", def, inputs, attributes)[0]),
                    test::as_doubles(run("cpu", def, inputs, attributes)[0]), 1e-5, "weights");
}

TEST(EmulatedKernels, GroupNormIsAsOnTheCpu) {
  Random random;
  for (int i = 0; i < rounds(12); ++i) {
    const DType dtype = random.of({DType::f32, DType::bf16, DType::f16, DType::f64});
    const bool narrow = dtype == DType::bf16 || dtype == DType::f16;
    const bool last = random.once_in(2);
    const std::int64_t groups = random.from(1, 12);
    const std::int64_t channels = groups * random.from(1, random.once_in(3) ? 40 : 8);
    const Shape in =
        ops::picture_shape(last, random.from(1, 5), channels,
                           random.from(1, random.once_in(5) ? 60 : 12), random.from(1, 20));
    SCOPED_TRACE(
        fmt::format("{}: {} in {} groups, {}", i, in.to_string(), groups, dtype_name(dtype)));
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    const DType parameters = narrow && random.once_in(2) ? DType::f32 : dtype;
    const Tensor x = ops::cast(random_tensor(in, 1), dtype);
    const Tensor dy = ops::cast(random_tensor(in, 2), dtype);
    const Tensor scale = ops::cast(random_tensor({channels}, 3), parameters);
    const Tensor bias = ops::cast(random_tensor({channels}, 4), parameters);
    const ops::Attributes attributes = {
        {"groups", groups}, {"epsilon", 1e-3}, {"channels_last", last}};
    const double share = 8 * test::allowed(dtype);
    check("group_norm", {x, scale, bias}, attributes, share);
    const auto found = run("cpu", *ops::find_op("group_norm"), {x, scale, bias}, attributes);
    check("group_norm_grad", {dy, x, scale, ops::cast(found[1], wide), ops::cast(found[2], wide)},
          attributes, share);
    if (HasFailure()) return;
  }
}

/// Weights, and the gradient of scores, as loops over numbers; by the kernels, for rows of every
/// length that has one of its own.
TEST(EmulatedKernels, ChunksOfAttentionAreAsLoopsOverNumbers) {
  Random random;
  constexpr double kScale = 0.3;
  for (int i = 0; i < rounds(24); ++i) {
    const std::int64_t units = random.from(1, 3);
    const std::int64_t queries = random.from(1, 11);
    const bool causal = random.once_in(2);
    const std::int64_t most =
        std::array{60, 520, 1030, 2050, 2200}[static_cast<std::size_t>(i % 5)];
    const std::int64_t keys = random.from(std::max(queries, most / 2), most);
    const std::int64_t seen = causal ? keys - queries + 1 : keys;
    const bool masked = random.once_in(2);
    cuda::ScoreRows rows{.units = units,
                         .queries = queries,
                         .columns = keys,
                         .stride = (keys + 3) / 4 * 4,
                         .seen = seen,
                         .causal = causal,
                         .scale = kScale,
                         .log_sums_step = queries,
                         .keys = keys,
                         .batch_step = 1};
    rows.step = queries * rows.stride;
    SCOPED_TRACE(fmt::format("{}: {} units, {} queries, {} keys{}{}", i, units, queries, keys,
                             causal ? ", causal" : "", masked ? ", masked" : ""));
    const auto elements = static_cast<std::size_t>(units * rows.step);
    const Tensor numbers = random_tensor({2, units * rows.step}, 5);
    const auto bytes = elements * sizeof(float);
    std::vector<char> counts(static_cast<std::size_t>(units * keys), 1);
    for (char& each : counts) each = !masked || random.once_in(2) ? 1 : 0;
    constexpr std::int64_t kSize = 5;
    const Tensor values = random_tensor({2, units * queries * kSize}, 6);
    const float* y = values.data<float>();
    const float* dy = y + units * queries * kSize;
    for (const Order order : kOrders) {
      emulation::order = order;
      Exact exact;
      if (masked) rows.mask = static_cast<const bool*>(exact.make(counts.size(), counts.data()));
      auto* scores = static_cast<float*>(exact.make(bytes, numbers.data<float>()));
      auto* again = static_cast<float*>(exact.make(bytes, numbers.data<float>()));
      auto* gradients = static_cast<float*>(exact.make(bytes, numbers.data<float>() + elements));
      auto* log_sums =
          static_cast<float*>(exact.make(static_cast<Bytes>(units * queries) * 4, nullptr));
      cuda::softmax_scores(scores, log_sums, rows, DType::f32, nullptr);
      cuda::softmax_scores_grad(
          again, gradients, log_sums, nullptr,
          {.y = y, .dy = dy, .size = kSize, .row = kSize, .step = queries * kSize}, rows,
          DType::f32, nullptr);
      for (std::int64_t unit = 0; unit < units; ++unit) {
        for (std::int64_t query = 0; query < queries; ++query) {
          const std::int64_t at = unit * rows.step + query * rows.stride;
          const auto is_seen = [&](std::int64_t key) {
            return key < seen + (causal ? query : 0) &&
                   counts[static_cast<std::size_t>(unit * keys + key)] != 0;
          };
          double sum = 0;
          double delta = 0;
          for (std::int64_t key = 0; key < keys; ++key) {
            if (is_seen(key)) sum += std::exp(numbers.data<float>()[at + key] * kScale);
          }
          const std::int64_t row = (unit * queries + query) * kSize;
          for (std::int64_t d = 0; d < kSize; ++d) delta += double{y[row + d]} * dy[row + d];
          if (sum > 0) EXPECT_NEAR(log_sums[unit * queries + query], std::log(sum), 1e-5);
          for (std::int64_t key = 0; key < keys; ++key) {
            const double weight =
                is_seen(key) ? std::exp(numbers.data<float>()[at + key] * kScale) / sum : 0;
            const double gradient = numbers.data<float>()[units * rows.step + at + key];
            ASSERT_NEAR(scores[at + key], weight, 1e-5) << key;
            ASSERT_NEAR(again[at + key], weight, 1e-5) << key;
            ASSERT_NEAR(gradients[at + key], weight * (gradient - delta) * kScale, 1e-5) << key;
          }
        }
      }
    }
  }
}

TEST(EmulatedKernels, OpsAreAsOnTheCpuInAllRecordedCases) {
  const std::string only =
      std::getenv("PLIMSOLL_EMULATED_OP") ? std::getenv("PLIMSOLL_EMULATED_OP") : "";
  for (const test::OpCase& c : test::op_cases()) {
    const ops::OpDef& def = *ops::find_op(c.op);
    if (ops::kernels_of("emulated").find(def) == nullptr || def.random || c.inputs.empty())
      continue;
    if (!only.empty() && c.op != only) continue;
    SCOPED_TRACE(c.description);
    for (const DType dtype : test::other_dtypes(def, c)) {
      const auto inputs = test::in_dtype(c, dtype).narrow;
      std::vector<TensorType> types;
      for (const Tensor& input : inputs) types.push_back(input.type());
      std::int64_t elements = 0;
      for (const TensorType& out : def.types({def, types, c.attributes}))
        elements += out.elements();
      if (elements == 0) continue;
      SCOPED_TRACE(dtype_name(dtype));
      check(c.op, inputs, c.attributes, std::max(1e-9, 4 * test::allowed(dtype) * c.tolerance));
    }
  }
}

}  // namespace
}  // namespace plimsoll
