// A program as a map function: its name, and what memory it says it needs.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program.h>

#include "data/program/executor.h"
#include "data/program/op.h"
#include "data/program/recorder.h"
#include "data/program/steps.h"

namespace plimsoll::data {
namespace {

/// The file of a small photograph, and rows of it.
constexpr Bytes kDecodeScratch = KiB(320);

/// Ops that a stage's title names.
constexpr std::size_t kNamedOps = 8;

bool has_op(const Program::Parts& parts, std::string_view op) {
  return std::ranges::any_of(parts.instructions,
                             [op](const Instruction& each) { return each.op == op; });
}

/// Whether it reads the file at component 0 and decodes it, so that headers say what it takes.
bool decodes_first(const Program::Parts& parts) {
  const bool reads = std::ranges::any_of(parts.instructions, [](const Instruction& each) {
    return each.op == "read_file" && each.inputs.front() == Operand{.index = 0};
  });
  return reads && has_op(parts, "decode_image");
}

std::string name_of(const Program::Parts& parts) {
  std::vector<std::string_view> names;
  for (const Instruction& each : parts.instructions) names.push_back(each.op);
  const bool more = names.size() > kNamedOps;
  if (more) names.resize(kNamedOps);
  return fmt::format("program: {}{}", fmt::join(names, " "), more ? " ..." : "");
}

/// Specs of all values for pictures of that size.
std::vector<TensorSpec> specs_for(const Program::Parts& parts, const PictureFile& file) {
  std::vector<TensorSpec> specs = parts.input.components;
  for (const Instruction& each : parts.instructions) {
    std::vector<TensorSpec> outputs = each.outputs;
    std::vector<TensorSpec> inputs;
    for (const Operand& operand : each.inputs) {
      const auto at = static_cast<std::size_t>(operand.index);
      inputs.push_back(operand.is_constant
                           ? TensorSpec::of(parts.constants[at].dtype, parts.constants[at].shape)
                           : specs[at]);
    }
    if (each.op == "decode_image") {
      const std::int64_t channels = each.attributes.integer("channels");
      outputs = {{DType::u8, std::vector<std::int64_t>{
                                 file.image.height, file.image.width,
                                 channels == 0 ? std::int64_t{file.image.channels} : channels}}};
    } else {
      try {
        outputs = infer_call(each.op, inputs, each.attributes);
      } catch (const Error&) {  // says so when it runs
      }
    }
    specs.insert(specs.end(), outputs.begin(), outputs.end());
  }
  return specs;
}

}  // namespace

Bytes Executor::needs(const PictureFile& file) const {
  const std::vector<TensorSpec> specs = specs_for(parts_, file);
  std::vector<Bytes> held(specs.size(), 0);
  Bytes live = 0;
  Bytes most = 0;
  for (const StepPtr& step : steps_) {
    for (int i = 0; i < step->output_count; ++i) {
      const auto v = static_cast<std::size_t>(step->first_output + i);
      const bool elsewhere = step->view || step->over_input >= 0 || output_uses_[v] > 0 ||
                             step->places[static_cast<std::size_t>(i)] >= 0;
      if (!elsewhere) held[v] = specs[v].nbytes().value_or(0);
      live += held[v];
    }
    most = std::max(most, live + step->needs(file));
    for (const int v : step->last_uses) {
      live -= std::exchange(held[static_cast<std::size_t>(v)], 0);
    }
  }
  return most;
}

MapFunction Program::function() const {
  MapFunction function;
  function.run = [program = *this](const Element& element, MapContext& context) {
    return program.run(element, context);
  };
  function.output = output_spec();
  if (has_op(*parts_, "decode_image")) function.scratch = kDecodeScratch;
  if (decodes_first(*parts_)) {
    function.needs = [program = *this](const std::string& path) {
      return program.parts().executor->needs(probe_file(path));
    };
  }
  function.random = std::ranges::any_of(parts_->instructions, [](const Instruction& each) {
    const ProgramOp* const op = find_program_op(each.op);
    return op == nullptr || op->random;
  });
  function.name = name_of(*parts_);
  function.details = to_string();
  return function;
}

}  // namespace plimsoll::data
