#include <plimsoll/function/function.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/device/free_pages.h>
#include <plimsoll/graph/fused_norms.h>
#include <plimsoll/graph/layout.h>
#include <plimsoll/graph/row_updates.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/ops/switches.h>
#include <plimsoll/plan/planner.h>

#include "function/shared_range.h"

namespace plimsoll {
namespace {

using Tensors = PlannedFunction::Tensors;
using Numbered = PlannedFunction::Numbered;
using NumberedBody = PlannedFunction::NumberedBody;

/// Signatures from which on a new one is worth a warning: a batch and its remainder are two.
constexpr std::int64_t kExpectedSignatures = 2;

std::vector<TensorType> types_of(const Tensors& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

/// What differs between two signatures. Of the same types it is what the function reads besides.
std::string difference(const std::vector<TensorType>& now, const std::vector<TensorType>& before) {
  if (now.size() != before.size()) {
    return fmt::format("{} inputs, before {}", now.size(), before.size());
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != before[i]) {
      return fmt::format("input {} is {}, before {}", i, now[i].to_string(), before[i].to_string());
    }
  }
  return "a module was switched to or from training, or a variable frozen or unfrozen";
}

std::uint64_t next_key() {
  static std::atomic<std::uint64_t> next = 0;
  return ++next;
}

}  // namespace

class PlannedFunction::Impl {
 public:
  explicit Impl(FunctionOptions options) : options_(std::move(options)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const Signature& each : signatures_) forget(each);
  }

  Numbered call(const Tensors& inputs, const NumberedBody& body) {
    const std::lock_guard lock(mutex_);
    Signature& signature = signature_for(inputs, body);
    SharedRange& range = *signature.range;
    const std::lock_guard running(range.mutex());
    plan::Executor& executor = executor_for(signature);
    for (const auto& hook : signature.hooks) hook(range.stream());
    executor.run(inputs, {.seed = options_.seed.value_or(ops::default_seed()), .step = calls_++});
    Numbered results;
    results.number = signature.number;
    for (const Tensor& output : executor.outputs()) {
      results.tensors.push_back(
          output.clone(range.device(), {.tag = Tag::user, .label = options_.name}));
    }
    return results;
  }

  const plan::Plan& plan(const Tensors& inputs, const NumberedBody& body) {
    const std::lock_guard lock(mutex_);
    Signature& signature = signature_for(inputs, body);
    const std::lock_guard running(signature.range->mutex());
    return planned(signature);
  }

  std::size_t signatures() const { return signatures_.size(); }
  std::int64_t traces() const { return traces_; }

 private:
  struct Signature {
    std::uint64_t key = 0;
    std::int64_t number = 0;  ///< what the body said of the trace
    std::vector<TensorType> types;
    std::vector<ops::SwitchReads::Read> switches;
    std::shared_ptr<SharedRange> range;
    std::shared_ptr<const graph::Graph> graph;
    std::vector<Variable> variables;
    std::vector<std::uint64_t> traced;  ///< ids of their tensors when the trace was made
    std::vector<std::uint64_t> bound;   ///< and when the executor was
    std::vector<std::function<void(StreamId)>> hooks;
    std::optional<plan::Plan> plan;
  };

  static void forget(const Signature& signature) {
    if (signature.range == nullptr) return;
    const std::lock_guard running(signature.range->mutex());
    signature.range->remove(signature.key);
  }

  Device device_of(const Tensors& inputs) const {
    if (options_.device) return *options_.device;
    for (const Tensor& input : inputs) {
      if (!input.is_symbolic()) return input.device();
    }
    return DefaultDevice::get();
  }

  /// The first of the list is the one that was used last.
  Signature& signature_for(const Tensors& inputs, const NumberedBody& body) {
    const std::vector<TensorType> types = types_of(inputs);
    const Device device = device_of(inputs);
    for (auto it = signatures_.begin(); it != signatures_.end(); ++it) {
      if (it->types == types && it->range->device() == device && still_holds(*it)) {
        signatures_.splice(signatures_.begin(), signatures_, it);
        return signatures_.front();
      }
    }
    Signature made = traced(types, device, body);
    std::string dropped;
    if (signatures_.size() >= std::max<std::size_t>(options_.signatures, 1)) {
      forget(signatures_.back());
      signatures_.pop_back();
      dropped = "; the plan that was not used for longest was dropped";
    }
    if (traces_ > kExpectedSignatures) {
      log_warning(fmt::format("[{}] traced again (trace {}): {}{}", options_.name, traces_,
                              difference(types, signatures_.empty() ? std::vector<TensorType>()
                                                                    : signatures_.front().types),
                              dropped));
    }
    return signatures_.emplace_front(std::move(made));
  }

  /// Whether what the trace read besides its inputs is as it was.
  static bool still_holds(const Signature& signature) {
    return std::all_of(signature.switches.begin(), signature.switches.end(),
                       [](const ops::SwitchReads::Read& each) { return each.holds(); });
  }

  Signature traced(const std::vector<TensorType>& types, const Device& device,
                   const NumberedBody& body) {
    graph::Tracer tracer;
    Tensors inputs;
    for (std::size_t i = 0; i < types.size(); ++i) {
      inputs.push_back(tracer.input(fmt::format("input {}", i), types[i]));
    }
    const ops::SwitchReads reads;
    std::int64_t number = 0;
    {
      const DefaultDevice here(device);
      const ops::DispatchScope dispatch(tracer);
      const ops::RandomScope random({});
      const Numbered outputs = body(inputs);
      number = outputs.number;
      for (const Tensor& output : outputs.tensors) {
        if (!output.defined()) {
          throw InvalidArgument(fmt::format("[{}] a result is undefined", options_.name));
        }
        if (tracer.find(output) == graph::kNone && !output.is_symbolic()) {
          tracer.bind(output, graph::Role::constant, output.storage()->tag(),
                      output.storage()->label());
        }
        tracer.output(output);
      }
    }
    ++traces_;
    auto graph = std::make_shared<graph::Graph>(graph::with_row_updates(tracer.finish()));
    if (device.capabilities().channels_last) {
      *graph = graph::with_fused_norms(graph::with_fast_layouts(*graph));
    }
    graph->verify();
    Signature made{.key = next_key(),
                   .number = number,
                   .types = types,
                   .switches = reads.settled(),
                   .range = SharedRange::of(device),
                   .graph = std::move(graph)};
    for (const auto& [id, variable] : tracer.variables()) {
      made.variables.push_back(variable);
      made.traced.push_back(variable.tensor().id());
    }
    made.hooks = tracer.hooks();
    return made;
  }

  /// The fastest plan in what is available now.
  const plan::Plan& planned(Signature& signature) {
    if (signature.plan) return *signature.plan;
    const Device& device = signature.range->device();
    plan::PlanOptions with;
    with.device = plan::describe_device(device);
    with.device.page_size = 1;  // the arena's are counted here
    plan::Planner planner(signature.graph, with);
    Bytes beside = 0;  // variables and outputs that have no memory yet
    for (const Variable& variable : signature.variables) {
      if (!variable.has_data()) beside += align_up(variable.type().bytes(), kBlock);
    }
    for (const graph::ValueId output : signature.graph->outputs()) {
      beside += 2 * align_up(signature.graph->value(output).type.bytes(), kBlock);
    }
    // Small blocks and large ones have pages of their own, each with a rest that is not full.
    const Bytes page = device.arena().source()->page_size();
    beside += with.device.workspace + 4 * page;
    release_free_pages(device);
    const Bytes available = device.budget().available();
    Bytes room = available == kUnlimited ? kUnlimited : available + signature.range->bytes();
    if (options_.budget != 0) room = std::min(room, options_.budget);
    std::optional<plan::Plan> found;
    if (room == kUnlimited) {
      found = planner.find(kUnlimited);
    } else if (room > beside) {
      found = planner.find(planner.fixed_bytes() + (room - beside));
    }
    if (!found) {
      const Bytes needed = planner.smallest().range + beside;
      if ((options_.budget != 0 && needed > options_.budget) ||
          !can_have(device, needed - std::min(needed, signature.range->bytes()))) {
        refuse(signature, needed, room);
      }
      found = planner.find(planner.fixed_bytes() + (needed - beside));
      if (!found) refuse(signature, needed, room);
    }
    signature.plan = std::move(*found);
    return *signature.plan;
  }

  /// Whether that much is available once holders have given back what they can, such as pipelines
  /// that read ahead.
  static bool can_have(const Device& device, Bytes bytes) {
    try {
      const Reservation all = device.budget().reserve(bytes);
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }

  [[noreturn]] void refuse(const Signature& signature, Bytes needed, Bytes room) const {
    const Device& device = signature.range->device();
    const Bytes limit = device.budget().limit();
    std::string inputs;
    for (const TensorType& type : signature.types) {
      inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", type.to_string());
    }
    const Bytes enough = options_.budget != 0 ? needed : limit + (needed - std::min(needed, room));
    throw BudgetTooSmall(
        fmt::format("[{}] a call with ({}) takes at least {} beside its variables, and {} is "
                    "available on {}\n"
                    "a function is never split; {} {}",
                    options_.name, inputs, format_bytes(needed), format_bytes(room), device.name(),
                    options_.budget != 0 ? "give it a budget of" : "smallest limit that fits:",
                    format_bytes(enough)),
        enough);
  }

  plan::Executor& executor_for(Signature& signature) {
    bool moved = signature.bound.size() != signature.variables.size();
    for (std::size_t i = 0; !moved && i < signature.bound.size(); ++i) {
      moved = signature.variables[i].tensor().id() != signature.bound[i];
    }
    if (!moved) {
      if (plan::Executor* known = signature.range->find(signature.key)) return *known;
    }
    const plan::Plan& plan = planned(signature);
    for (const Variable& variable : signature.variables) {
      variable.materialize(signature.range->device());
    }
    std::map<std::uint64_t, Tensor> now;
    signature.bound.clear();
    for (std::size_t i = 0; i < signature.variables.size(); ++i) {
      const Tensor& tensor = signature.variables[i].tensor();
      now.emplace(signature.traced[i], tensor);
      signature.bound.push_back(tensor.id());
    }
    return signature.range->add(signature.key, plan, [now](const graph::Value& value) {
      const auto it = now.find(value.tensor.defined() ? value.tensor.id() : 0);
      return it == now.end() ? Tensor() : it->second;
    });
  }

  static constexpr Bytes kBlock = 256;

  FunctionOptions options_;
  std::mutex mutex_;
  std::list<Signature> signatures_;
  std::int64_t traces_ = 0;
  std::uint64_t calls_ = 0;
};

PlannedFunction::PlannedFunction(FunctionOptions options)
    : impl_(std::make_shared<Impl>(std::move(options))) {}

namespace {

PlannedFunction::NumberedBody numbered(const PlannedFunction::Body& body) {
  return [&body](const Tensors& inputs) -> PlannedFunction::Numbered {
    return {.tensors = body(inputs)};
  };
}

}  // namespace

Tensors PlannedFunction::call(const Tensors& inputs, const Body& body) const {
  return call_numbered(inputs, numbered(body)).tensors;
}

PlannedFunction::Numbered PlannedFunction::call_numbered(const Tensors& inputs,
                                                         const NumberedBody& body) const {
  const ops::VariableReader* reader = ops::VariableReader::current();
  if (reader != nullptr && reader->records()) return body(inputs);
  for (const Tensor& input : inputs) {
    if (ops::Dispatcher::current().follows(input)) {
      throw InvalidArgument(
          "[function] a gradient tape follows an input and cannot look into the function; take the "
          "gradient within it");
    }
  }
  return impl_->call(inputs, body);
}

const plan::Plan& PlannedFunction::plan(const Tensors& inputs, const Body& body) const {
  return plan_numbered(inputs, numbered(body));
}

const plan::Plan& PlannedFunction::plan_numbered(const Tensors& inputs,
                                                 const NumberedBody& body) const {
  return impl_->plan(inputs, body);
}

std::size_t PlannedFunction::signatures() const { return impl_->signatures(); }
std::int64_t PlannedFunction::traces() const { return impl_->traces(); }

}  // namespace plimsoll
