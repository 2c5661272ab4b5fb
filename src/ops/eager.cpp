#include "ops/eager.h"

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/kernel_alignment.h>
#include <plimsoll/ops/variable_reader.h>

#include "ops/check_finite.h"
#include "ops/kernel_cache.h"

namespace plimsoll::ops {
namespace {

thread_local const Device* eager_device = nullptr;

/// Signatures whose preparation is remembered: more than a large model has, since one too few would
/// prepare everything anew in each step. A product has 75 KiB of code that no budget is charged
/// with, and programs may give every batch another shape.
constexpr std::size_t kPreparedSignatures = 512;

/// True if `inner` is a session or a logical device of `outer`: it is the same hardware.
bool lies_in(const Device& inner, const Device& outer) {
  return inner.same_backend(outer) && inner.name().starts_with(outer.name() + "/");
}

/// Where the inputs are and the results will be: the innermost of their devices, so that weights of
/// a device can be used within a session of it.
const Device& device_of(const OpCall& call) {
  if (call.inputs.empty()) {
    if (eager_device == nullptr) {
      throw InvalidArgument(fmt::format("[{}] no device to run on", call.def.name));
    }
    return *eager_device;
  }
  for (const Tensor& input : call.inputs) {
    if (input.is_symbolic()) {
      throw InvalidArgument(
          fmt::format("[{}] {} has no data; run it within its trace, or allocate "
                      "the module's parameters first",
                      call.def.name, input.symbol()->describe()));
    }
  }
  const Device* device = &call.inputs.front().device();
  for (const Tensor& input : call.inputs) {
    if (input.device() == *device) continue;
    for (const Tensor& each : call.inputs) each.raw_data();  // says so if its session is closed
    if (lies_in(input.device(), *device)) {
      device = &input.device();
    } else if (!lies_in(*device, input.device())) {
      throw InvalidArgument(fmt::format("[{}] inputs are on {} and {}; move one with to()",
                                        call.def.name, device->name(), input.device().name()));
    }
  }
  return *device;
}

/// Waits for what this thread has submitted, at check() or, if that was not reached, at its end.
class Finished {
 public:
  explicit Finished(const Device& device) : device_(device) {}
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;
  ~Finished() {
    if (checked_) return;
    try {
      device_.synchronize(kHostStream);
    } catch (const Error&) {  // another one is on its way
    }
  }
  void check() const {
    checked_ = true;
    device_.synchronize(kHostStream);
  }

 private:
  const Device& device_;
  mutable bool checked_ = false;
};

class EagerDispatcher final : public Dispatcher, public VariableReader {
 public:
  void read(const Variable& variable) override {
    if (!variable.has_data()) variable.materialize(DefaultDevice::get());
  }

  std::vector<Tensor> call(const OpCall& call) override {
    const Device& device = device_of(call);
    const Kernel* kernel = kernels_of(device).find(call.def);
    if (kernel == nullptr) {
      throw DeviceError(fmt::format("[{}] has no kernel for {}", call.def.name, device.name()));
    }
    // What is viewed and copied here is part of an op, which is recorded as a whole.
    const NoViewListener quiet;
    if (call.def.view) {
      return {call.inputs.front().contiguous().reshape(call.outputs.front().shape)};
    }

    std::vector<TensorType> types;
    for (const Tensor& input : call.inputs) types.push_back(input.type());
    const OpInputs signature(call.def, types, call.attributes);
    const DeviceScope current(device);
    const auto state = prepared_.get(*kernel, signature, call.outputs);

    // Everything is allocated before anything is computed.
    std::vector<Tensor> dense;
    std::vector<TensorView> in;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const bool written = call.def.overwrites(i);
      if (written && !call.inputs[i].is_contiguous()) {
        throw InvalidArgument(
            fmt::format("[{}] cannot write into a view with gaps; input {}", call.def.name, i));
      }
      if (written && !suits_kernels(call.inputs[i])) {
        throw InvalidArgument(fmt::format(
            "[{}] cannot write into a view that does not begin at a multiple of {} bytes; input {}",
            call.def.name, device.capabilities().kernel_alignment, i));
      }
      dense.push_back(written ? call.inputs[i] : placed_for_kernels(call.inputs[i].contiguous()));
      in.push_back(
          {written ? dense.back().raw_mutable_data() : const_cast<void*>(dense.back().raw_data()),
           types[i]});
    }
    std::vector<Tensor> results = outputs_of(call, device);
    std::vector<TensorView> out;
    bool work = call.def.writes != 0;
    for (Tensor& result : results) {
      out.push_back({result.raw_mutable_data(), result.type()});
      work = work || result.elements() != 0;
    }
    const Bytes scratch = state == nullptr ? 0 : state->workspace;
    const Block workspace = device.allocate(scratch, Tag::workspace, call.def.name);
    if (work) {
      // Whoever frees these tensors next need not know that a device was at work.
      const Finished finished(device);
      kernel->run({.outputs = out,
                   .inputs = in,
                   .attributes = call.attributes,
                   .state = state.get(),
                   .workspace = workspace.data(),
                   .queue = device.queue(kHostStream),
                   .random = RandomScope::key()});
      finished.check();
    }
    if (CheckFiniteScope::current()) check_outputs_finite(call, results);
    return results;
  }

 private:
  static std::vector<Tensor> outputs_of(const OpCall& call, const Device& device) {
    std::vector<Tensor> results;
    results.reserve(call.outputs.size());
    if (call.def.writes != 0) {
      for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (call.def.overwrites(i)) results.push_back(call.inputs[i]);
      }
      return results;
    }
    for (const TensorType& type : call.outputs) {
      results.push_back(Tensor::empty(type.shape, type.dtype, device,
                                      {.tag = Tag::activations, .label = call.def.name}));
    }
    return results;
  }

  KernelCache prepared_{kPreparedSignatures};
};

}  // namespace

Dispatcher& Dispatcher::eager() {
  thread_local EagerDispatcher dispatcher;
  return dispatcher;
}

EagerDeviceScope::EagerDeviceScope(const Device& device)
    : before_(std::exchange(eager_device, &device)) {}
EagerDeviceScope::~EagerDeviceScope() { eager_device = before_; }

std::vector<Tensor> call_on(const Device& device, const OpDef& def, const Attributes& attributes) {
  const EagerDeviceScope scope(device);
  return ops::call(def, std::span<const Tensor>(), attributes);
}

std::vector<Tensor> call_like(const Tensor& like, const OpDef& def, const Attributes& attributes) {
  if (like.is_symbolic()) return ops::call(def, std::span<const Tensor>(), attributes);
  return call_on(like.device(), def, attributes);
}

}  // namespace plimsoll::ops
