#pragma once

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/half.h>
#include <plimsoll/device/owned_stream.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/plan/device_description.h>

#include "plan/op_seconds.h"

// Single ops on a GPU, recorded as a step is: what bench_products and bench_convolutions share.

namespace plimsoll::bench {

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
inline double microseconds(const Call& call, const Device& device, StreamId stream) {
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

inline DType dtype_named(const std::string& precision) {
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

inline Tensor random(const Shape& shape, DType dtype, const Device& device, double deviation = 1) {
  return ops::random_normal({dtype, shape}, 0, deviation, device);
}

/// Where a call is made, and what predicts it.
struct Place {
  Device device;
  plan::DeviceDescription described;
  StreamId stream;
};

/// Reads lines of words and answers each with a line of JSON; an error is one, too.
inline int answer_lines(
    const std::function<nlohmann::json(std::istringstream&, const Place&)>& answer) {
  try {
    const Device device = Device::open("cuda:0");
    const DeviceScope current(device);
    const OwnedStream stream(device);
    const Place place{device, plan::describe_device(device), stream.id()};
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      nlohmann::json reply;
      try {
        reply = answer(words, place);
      } catch (const Error& error) {
        reply = {{"error", error.what()}};
      }
      std::cout << reply.dump() << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}

}  // namespace plimsoll::bench
