// Ops on tensors within programs: their CPU kernels, on the calling thread, with memory from the
// task's context.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

#include "data/program/aligned_scratch.h"
#include "data/program/infer.h"
#include "data/program/steps.h"

namespace plimsoll::data {
namespace {

using Types = std::vector<TensorType>;
using StatePtr = std::shared_ptr<const ops::KernelState>;

/// What a kernel prepared for the extents seen last. Thread-safe.
class PreparedStates {
 public:
  StatePtr get(const ops::Kernel& kernel, const ops::OpInputs& inputs, const Types& outputs) {
    if (kernel.prepare == nullptr) return nullptr;
    const std::scoped_lock lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.attributes == inputs.attributes() &&
          std::ranges::equal(entry.inputs, inputs.types())) {
        return entry.state;
      }
    }
    if (entries_.size() >= kKept) entries_.erase(entries_.begin());
    entries_.push_back({{inputs.types().begin(), inputs.types().end()},
                        inputs.attributes(),
                        kernel.prepare(inputs, outputs)});
    return entries_.back().state;
  }

 private:
  static constexpr std::size_t kKept = 32;
  struct Entry {
    Types inputs;
    ops::Attributes attributes;
    StatePtr state;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

class TensorStep final : public Step {
 public:
  TensorStep(const ops::OpDef& def, const Instruction& instruction,
             const std::vector<TensorSpec>& specs, const Program::Parts& parts)
      : def_(def),
        kernel_(ops::kernels_of("cpu").find(def)),
        attributes_(instruction.attributes),
        open_(is_open(def, instruction.attributes)) {
    if (kernel_ == nullptr && !def.view) {
      throw InvalidArgument(fmt::format("[{}] has no kernel for the CPU", def.name));
    }
    inputs = instruction.inputs;
    first_output = instruction.first_output;
    output_count = static_cast<int>(instruction.outputs.size());
    places.assign(instruction.outputs.size(), -1);
    view = def.view;
    for (const ops::InPlace& each : def.in_place) {
      if (each.output == 0 && each.input < static_cast<int>(inputs.size())) {
        may_write_over.push_back(each.input);
      }
    }
    prepare_if_fixed(specs, parts);
  }

  void run(Frame& frame) const override {
    std::vector<ProgramInput> from;
    from.reserve(inputs.size());
    for (const Operand& operand : inputs) from.push_back(frame.input(operand));
    if (fixed_) return run_kernel(frame, from, attributes_, fixed_->outputs, fixed_->state.get());
    Types types;
    types.reserve(from.size());
    for (const ProgramInput& input : from) types.push_back(input.type());
    const ops::Attributes attributes =
        open_ ? closed(def_, attributes_, types) : ops::Attributes(attributes_);
    const ops::OpInputs signature(def_, types, attributes);
    const Types outputs = def_.types(signature);
    const StatePtr state =
        kernel_ == nullptr ? nullptr : prepared_.get(*kernel_, signature, outputs);
    run_kernel(frame, from, attributes, outputs, state.get());
  }

 private:
  struct Fixed {
    Types outputs;
    StatePtr state;
  };

  /// Where all extents are known, nothing but the kernel is left for each element.
  void prepare_if_fixed(const std::vector<TensorSpec>& specs, const Program::Parts& parts) {
    Types types;
    for (const Operand& operand : inputs) {
      const auto at = static_cast<std::size_t>(operand.index);
      if (operand.is_constant) {
        types.push_back({parts.constants[at].dtype, parts.constants[at].shape});
      } else if (specs[at].is_fixed()) {
        types.push_back({specs[at].dtype, specs[at].shape()});
      } else {
        return;
      }
    }
    attributes_ = closed(def_, attributes_, types);
    const ops::OpInputs signature(def_, types, attributes_);
    Fixed fixed;
    fixed.outputs = def_.types(signature);
    if (kernel_ != nullptr && kernel_->prepare != nullptr) {
      fixed.state = kernel_->prepare(signature, fixed.outputs);
    }
    fixed_ = std::move(fixed);
  }

  void run_view(Frame& frame, const ProgramInput& from, const TensorType& type) const {
    Value& result = frame.values[static_cast<std::size_t>(first_output)];
    if (type.shape.rank() == 0) {
      result = Value::from_bits(type.dtype, from.data());
      return;
    }
    if (from.value() != nullptr && !from.value()->is_scalar()) {
      result = Value(from.value()->tensor().reshape(type.shape));
      return;
    }
    Tensor copy = output(frame, 0, type);
    std::memcpy(copy.raw_mutable_data(), from.data(), copy.nbytes());
    result = Value(std::move(copy));
  }

  Tensor output(Frame& frame, std::size_t i, const TensorType& type) const {
    if (i == 0 && over_input >= 0) {
      const auto over =
          static_cast<std::size_t>(inputs[static_cast<std::size_t>(over_input)].index);
      const Value& value = frame.values[over];
      if (!value.is_scalar() && value.tensor().type() == type) return value.tensor();
    }
    if (places[i] >= 0) {
      return frame.context.output(static_cast<std::size_t>(places[i])).reshape(type.shape);
    }
    return frame.context.empty(type.shape, type.dtype);
  }

  void run_kernel(Frame& frame, const std::vector<ProgramInput>& from,
                  const ops::Attributes& attributes, const Types& types,
                  const ops::KernelState* state) const {
    if (def_.view) return run_view(frame, from.front(), types.front());
    std::vector<ops::TensorView> in;
    in.reserve(from.size());
    for (const ProgramInput& input : from) {
      in.push_back({const_cast<void*>(input.data()), input.type()});
    }
    std::vector<std::uint64_t> scalars(types.size(), 0);
    std::vector<Tensor> tensors(types.size());
    std::vector<ops::TensorView> out;
    out.reserve(types.size());
    bool work = false;
    for (std::size_t i = 0; i < types.size(); ++i) {
      void* data = &scalars[i];
      if (types[i].shape.rank() > 0) {
        tensors[i] = output(frame, i, types[i]);
        data = tensors[i].raw_mutable_data();
      }
      out.push_back({data, types[i]});
      work = work || types[i].elements() > 0;
    }
    const AlignedScratch workspace(frame.context.scratch(),
                                   state == nullptr ? 0 : state->workspace);
    if (work) {
      kernel_->run({.outputs = out,
                    .inputs = in,
                    .attributes = attributes,
                    .state = state,
                    .workspace = workspace.data()});
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      Value& result = frame.values[static_cast<std::size_t>(first_output) + i];
      result = tensors[i].defined() ? Value(std::move(tensors[i]))
                                    : Value::from_bits(types[i].dtype, &scalars[i]);
    }
  }

  const ops::OpDef& def_;
  const ops::Kernel* const kernel_;
  ops::Attributes attributes_;
  const bool open_;
  std::optional<Fixed> fixed_;
  mutable PreparedStates prepared_;
};

class OpStep final : public Step {
 public:
  OpStep(const Instruction& instruction, const ProgramOp& op, std::uint32_t random_index)
      : op_(op), attributes_(instruction.attributes), random_index_(random_index) {
    inputs = instruction.inputs;
    first_output = instruction.first_output;
    output_count = static_cast<int>(instruction.outputs.size());
    places.assign(instruction.outputs.size(), -1);
    view = op.view;
  }
  void run(Frame& frame) const override {
    std::vector<ProgramInput> from;
    from.reserve(inputs.size());
    for (const Operand& operand : inputs) from.push_back(frame.input(operand));
    const std::span<Value> results(frame.values.data() + first_output,
                                   static_cast<std::size_t>(output_count));
    ProgramCall call(from, attributes_, frame.context, results, places, random_index_);
    op_.run(call);
  }

 private:
  const ProgramOp& op_;
  const ops::Attributes attributes_;
  const std::uint32_t random_index_;
};

}  // namespace

StepPtr make_tensor_step(const Instruction& instruction, const Program::Parts& parts,
                         const std::vector<TensorSpec>& specs) {
  const ops::OpDef* const def = ops::find_op(instruction.op);
  if (def == nullptr) {
    throw InternalError(fmt::format("[Program] there is no op {}", instruction.op));
  }
  StepPtr step = std::make_unique<TensorStep>(*def, instruction, specs, parts);
  step->text = text_of(instruction, parts.constants);
  return step;
}

StepPtr make_op_step(const Instruction& instruction, const ProgramOp& op,
                     std::uint32_t random_index, const Program::Parts& parts) {
  StepPtr step = std::make_unique<OpStep>(instruction, op, random_index);
  step->text = text_of(instruction, parts.constants);
  return step;
}

}  // namespace plimsoll::data
