#include <plimsoll/data/program.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/program/executor.h"
#include "data/program/parts.h"

namespace plimsoll::data {
namespace {

/// Constants with more elements are shown by their type.
constexpr std::int64_t kShownElements = 8;

std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 0xCBF29CE484222325U) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

std::string text_of(const ops::Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, DType>) {
          return std::string(dtype_name(value));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("\"{}\"", printable(value));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("[{}]", fmt::join(value, ","));
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return value == Tensor::kToEnd ? "end" : std::to_string(value);
        } else {
          return fmt::format("{}", value);
        }
      },
      attribute);
}

std::string outputs_text(const Program::Parts& parts) {
  std::string text = "return ";
  for (std::size_t i = 0; i < parts.outputs.size(); ++i) {
    if (i > 0) text += ", ";
    if (!parts.output.names.empty()) text += parts.output.names[i] + "=";
    text += text_of(parts.outputs[i], parts.constants);
  }
  return text;
}

}  // namespace

std::string ProgramConstant::to_string() const {
  const std::int64_t count = shape.elements();
  if (count > kShownElements || shape.rank() > 1) {
    std::uint64_t hash =
        hash_of({reinterpret_cast<const char*>(data.data()), data.size()}, 0xCBF29CE484222325U);
    for (const std::string& each : strings) hash = hash_of(each, hash ^ each.size());
    return fmt::format("{} {} #{:016x}", dtype_name(dtype), shape.to_string(), hash);
  }
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (dtype == DType::bytes) {
      texts.push_back(fmt::format("\"{}\"", printable(strings[at])));
      continue;
    }
    const Value value = Value::from_bits(dtype, data.data() + at * dtype_size(dtype));
    const std::string shown = Element{value}.to_string();
    texts.push_back(shown.substr(1, shown.size() - 2));
  }
  const std::string all = fmt::format("{}", fmt::join(texts, ","));
  return shape.rank() == 0 ? all : "[" + all + "]";
}

std::string text_of(const Operand& operand, const std::vector<ProgramConstant>& constants) {
  if (!operand.is_constant) return fmt::format("%{}", operand.index);
  return constants[static_cast<std::size_t>(operand.index)].to_string();
}

std::string text_of(const Instruction& instruction, const std::vector<ProgramConstant>& constants) {
  std::vector<std::string> results;
  for (std::size_t i = 0; i < instruction.outputs.size(); ++i) {
    results.push_back(fmt::format("%{}", instruction.first_output + static_cast<int>(i)));
  }
  std::vector<std::string> arguments;
  for (const Operand& input : instruction.inputs) arguments.push_back(text_of(input, constants));
  for (const auto& [name, value] : instruction.attributes.entries()) {
    arguments.push_back(fmt::format("{}={}", name, text_of(value)));
  }
  return fmt::format("{} = {}({})", fmt::join(results, ", "), instruction.op,
                     fmt::join(arguments, ", "));
}

Program::Parts::Parts(ElementSpec takes, ElementSpec gives, std::vector<ProgramConstant> fixed,
                      std::vector<Instruction> steps, std::vector<Operand> results)
    : input(std::move(takes)),
      output(std::move(gives)),
      constants(std::move(fixed)),
      instructions(std::move(steps)),
      outputs(std::move(results)),
      executor(std::make_unique<Executor>(*this)) {}
Program::Parts::~Parts() = default;

const ElementSpec& Program::input_spec() const { return parts_->input; }
const ElementSpec& Program::output_spec() const { return parts_->output; }
std::span<const ProgramConstant> Program::constants() const { return parts_->constants; }
std::span<const Instruction> Program::instructions() const { return parts_->instructions; }
std::span<const Operand> Program::outputs() const { return parts_->outputs; }

std::string Program::to_string() const {
  std::string text = parts_->input.to_string() + "\n";
  for (const Instruction& instruction : parts_->instructions) {
    std::vector<std::string> specs;
    for (const TensorSpec& spec : instruction.outputs) specs.push_back(spec.to_string());
    text +=
        fmt::format("{} -> {}\n", text_of(instruction, parts_->constants), fmt::join(specs, ", "));
  }
  return text + outputs_text(*parts_) + "\n";
}

std::string Program::signature() const { return fmt::format("{:016x}", hash_of(to_string())); }

bool operator==(const Program& a, const Program& b) {
  if (a.parts_ == b.parts_) return true;
  return a.parts_->input == b.parts_->input && a.parts_->output == b.parts_->output &&
         a.parts_->constants == b.parts_->constants &&
         a.parts_->instructions == b.parts_->instructions && a.parts_->outputs == b.parts_->outputs;
}

Element Program::run(const Element& element, MapContext& context) const {
  return parts_->executor->run(element, context);
}

}  // namespace plimsoll::data
