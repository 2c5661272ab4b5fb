// Single products and attentions on a GPU, recorded as a step is. Reads lines
//
//   product PRECISION TRANSPOSE_A TRANSPOSE_B BATCHES M N K
//   attention PRECISION CAUSAL BATCHES HEADS TOKENS SIZE
//
// and answers each with a line of JSON: microseconds, those predicted, and whether elements that
// were looked at are right. bench/products.py runs it beside PyTorch.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/half.h>
#include <plimsoll/device/owned_stream.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/product_shape.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/plan/device_description.h>

#include "plan/op_seconds.h"

namespace {

using namespace plimsoll;
using ops::Attributes;

/// One call of an op: its kernel prepared, its tensors in place.
class Call {
 public:
  Call(const char* op, std::vector<Tensor> inputs, Attributes attributes, const Device& device)
      : device_(device), def_(*ops::find_op(op)), attributes_(std::move(attributes)) {
    kernel_ = ops::kernels_of(device).find(def_);
    tensors_ = std::move(inputs);
    for (const Tensor& t : tensors_) {
      in_.push_back({const_cast<void*>(t.raw_data()), t.type()});
      types_.push_back(t.type());
    }
    const ops::OpInputs signature(def_, types_, attributes_);
    out_types_ = def_.types(signature);
    for (const TensorType& type : out_types_) {
      results.push_back(Tensor::empty(type.shape, type.dtype, device, {.label = op}));
      out_.push_back({results.back().raw_mutable_data(), type});
    }
    if (kernel_->prepare != nullptr) state_ = kernel_->prepare(signature, out_types_);
    workspace = state_ == nullptr ? 0 : state_->workspace;
    allowed = def_.workspace == nullptr ? 0 : def_.workspace(signature, out_types_);
    allowed = std::max(allowed, ops::kWorkspaceSlot - ops::kWorkspaceReserve);
    block_ = device.allocate(workspace, Tag::workspace, op);
  }

  void run(StreamId stream) const {
    kernel_->run({.outputs = out_,
                  .inputs = in_,
                  .attributes = attributes_,
                  .state = state_.get(),
                  .workspace = block_.data(),
                  .queue = device_.queue(stream)});
  }

  double predicted(const plan::DeviceDescription& described) const {
    return plan::op_seconds({def_, types_, attributes_}, out_types_, described) * 1e6;
  }

  std::vector<Tensor> results;
  Bytes workspace = 0;
  Bytes allowed = 0;

 private:
  Device device_;
  const ops::OpDef& def_;
  Attributes attributes_;
  const ops::Kernel* kernel_ = nullptr;
  std::vector<Tensor> tensors_;
  std::vector<TensorType> types_;
  std::vector<TensorType> out_types_;
  std::vector<ops::TensorView> in_;
  std::vector<ops::TensorView> out_;
  std::shared_ptr<const ops::KernelState> state_;
  Block block_;
};

/// Microseconds of a call: many in one recording, the least of three replays.
double microseconds(const Call& call, const Device& device, StreamId stream) {
  const auto timed = [&](const std::function<void()>& work) {
    const auto timer = device.make_timer(stream);
    timer->mark();
    work();
    timer->mark();
    return timer->seconds().front();
  };
  call.run(stream);
  const double once = timed([&] { call.run(stream); });
  const int repeats = std::clamp(static_cast<int>(1.5e-3 / std::max(once, 1e-6)), 1, 60);
  const auto recording = device.record(stream, [&] {
    for (int i = 0; i < repeats; ++i) call.run(stream);
  });
  if (recording == nullptr) throw DeviceError("[bench] nothing could be recorded");
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < (once > 0.02 ? 1 : 3); ++turn) {
    least = std::min(least, timed([&] { recording->replay(); }));
  }
  device.synchronize(stream);
  return least / repeats * 1e6;
}

DType dtype_of(const std::string& precision) {
  return precision == "tf32" ? DType::f32 : parse_dtype(precision, "precision");
}

/// Elements of a tensor on the host, as double.
class Numbers {
 public:
  explicit Numbers(const Tensor& tensor) : host_(tensor.to(Device::open("cpu:0"))) {}
  double operator[](std::int64_t i) const {
    switch (host_.dtype()) {
      case DType::f32:
        return static_cast<const float*>(host_.raw_data())[i];
      case DType::bf16:
        return static_cast<float>(static_cast<const BFloat16*>(host_.raw_data())[i]);
      default:
        return static_cast<float>(static_cast<const Float16*>(host_.raw_data())[i]);
    }
  }

 private:
  Tensor host_;
};

/// Some elements of c against sums in double. -1: too large to look at.
int errors(const ops::ProductShape& s, const Tensor& a, const Tensor& b, const Tensor& c) {
  if (a.type().bytes() + b.type().bytes() + c.type().bytes() > MiB(96)) return -1;
  const Numbers x(a);
  const Numbers y(b);
  const Numbers z(c);
  std::mt19937_64 random(5);
  const double relative = s.dtype == DType::f32 ? 1e-5 : s.dtype == DType::f16 ? 1e-3 : 8e-3;
  const double absolute = s.tf32 ? 4e-3 : 2e-4;
  int wrong = 0;
  for (int i = 0; i < 64; ++i) {
    const auto at =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.batches * s.m * s.n));
    // The last elements are where copies and slices would go wrong.
    const std::int64_t element = i < 8 ? s.batches * s.m * s.n - 1 - i % (s.m * s.n) : at;
    const std::int64_t batch = element / (s.m * s.n);
    const std::int64_t row = element / s.n % s.m;
    const std::int64_t column = element % s.n;
    double sum = 0;
    for (std::int64_t k = 0; k < s.k; ++k) {
      const std::int64_t left = s.transpose_a ? k * s.m + row : row * s.k + k;
      const std::int64_t right = s.transpose_b ? column * s.k + k : k * s.n + column;
      sum += x[batch * s.m * s.k + left] * y[batch * s.k * s.n + right];
    }
    const double most = relative * std::abs(sum) + absolute * std::sqrt(static_cast<double>(s.k));
    if (!(std::abs(z[element] - sum) <= most)) ++wrong;
  }
  return wrong;
}

Tensor random(const Shape& shape, DType dtype, const Device& device, double deviation = 1) {
  return ops::random_normal({dtype, shape}, 0, deviation, device);
}

nlohmann::json product(std::istringstream& words, const Device& device,
                       const plan::DeviceDescription& described, StreamId stream) {
  std::string precision;
  ops::ProductShape s;
  words >> precision >> s.transpose_a >> s.transpose_b >> s.batches >> s.m >> s.n >> s.k;
  s.dtype = dtype_of(precision);
  s.tf32 = precision == "tf32";
  const auto shape = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return s.batches == 1 ? Shape{rows, columns} : Shape{s.batches, rows, columns};
  };
  Attributes attributes = {{"transpose_a", s.transpose_a}, {"transpose_b", s.transpose_b}};
  if (s.tf32) attributes.set("tf32", true);
  const Tensor a = random(shape(s.m, s.k, s.transpose_a), s.dtype, device);
  const Tensor b = random(shape(s.k, s.n, s.transpose_b), s.dtype, device);
  const Call call("matmul", {a, b}, attributes, device);
  const double took = microseconds(call, device, stream);
  const ops::ProductRoute route = ops::product_route(s);
  return {{"us", took},
          {"predicted", call.predicted(described)},
          {"errors", errors(s, a, b, call.results[0])},
          {"copies", route.copy_a + route.copy_b + route.copy_c},
          {"slices", route.slices},
          {"within", call.workspace <= call.allowed}};
}

nlohmann::json attention(std::istringstream& words, const Device& device,
                         const plan::DeviceDescription& described, StreamId stream) {
  std::string precision;
  bool causal = false;
  std::int64_t n = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;
  std::int64_t size = 0;
  words >> precision >> causal >> n >> heads >> tokens >> size;
  Attributes attributes = {
      {"heads", heads}, {"causal", causal}, {"scale", 1 / std::sqrt(static_cast<double>(size))}};
  if (precision == "tf32") attributes.set("tf32", true);
  const DType dtype = dtype_of(precision);
  const Tensor qkv = random({n, tokens, 3 * heads * size}, dtype, device);
  const Tensor dy = random({n, tokens, heads * size}, dtype, device);
  const Call forward("self_attention", {qkv}, attributes, device);
  const double us = microseconds(forward, device, stream);
  const Call backward("self_attention_grad", {qkv, forward.results[0], forward.results[1], dy},
                      attributes, device);
  const double grad = microseconds(backward, device, stream);
  return {
      {"us", us},
      {"predicted", forward.predicted(described)},
      {"grad_us", grad},
      {"grad_predicted", backward.predicted(described)},
      {"within", forward.workspace <= forward.allowed && backward.workspace <= backward.allowed}};
}

}  // namespace

int main() {
  try {
    const Device device = Device::open("cuda:0");
    const DeviceScope current(device);
    const plan::DeviceDescription described = plan::describe_device(device);
    const OwnedStream stream(device);
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      try {
        std::cout << (kind == "product" ? product(words, device, described, stream.id())
                                        : attention(words, device, described, stream.id()))
                         .dump()
                  << std::endl;
      } catch (const Error& error) {
        std::cout << nlohmann::json({{"error", error.what()}}).dump() << std::endl;
      }
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
