// From what was recorded to a program: what nobody needs is left out, the rest is numbered anew.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/symbolic.h>

#include "data/program/parts.h"
#include "data/program/recorder.h"

namespace plimsoll::data {
namespace {

class Pruned {
 public:
  Pruned(const Symbolic::Recorder& recorder, const Symbolics& outputs)
      : recorder_(recorder), needed_(recorder.specs.size(), false) {
    for (const Symbolics::Named& each : outputs) need(each.value.operand());
    const auto& all = recorder.instructions;
    std::vector<bool> kept(all.size(), false);
    for (std::size_t i = all.size(); i-- > 0;) {
      for (std::size_t k = 0; k < all[i].outputs.size(); ++k) {
        kept[i] = kept[i] || needed_[static_cast<std::size_t>(all[i].first_output) + k];
      }
      if (!kept[i]) continue;
      for (const Operand& input : all[i].inputs) need(input);
    }
    int next = static_cast<int>(recorder.input.components.size());
    values_.resize(recorder.specs.size());
    for (int v = 0; v < next; ++v) values_[static_cast<std::size_t>(v)] = v;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!kept[i]) continue;
      Instruction instruction = all[i];
      for (Operand& input : instruction.inputs) input = renumbered(input);
      for (std::size_t k = 0; k < instruction.outputs.size(); ++k) {
        values_[static_cast<std::size_t>(all[i].first_output) + k] = next + static_cast<int>(k);
      }
      instruction.first_output = next;
      next += static_cast<int>(instruction.outputs.size());
      instructions.push_back(std::move(instruction));
    }
  }

  Operand renumbered(const Operand& operand) {
    const auto at = static_cast<std::size_t>(operand.index);
    if (!operand.is_constant) return {.index = values_[at]};
    const ProgramConstant& constant = recorder_.constants[at];
    const auto found = std::ranges::find(constants, constant);
    const auto index = static_cast<int>(found - constants.begin());
    if (found == constants.end()) constants.push_back(constant);
    return {.is_constant = true, .index = index};
  }

  std::vector<Instruction> instructions;
  std::vector<ProgramConstant> constants;

 private:
  void need(const Operand& operand) {
    if (!operand.is_constant) needed_[static_cast<std::size_t>(operand.index)] = true;
  }

  const Symbolic::Recorder& recorder_;
  std::vector<bool> needed_;
  std::vector<int> values_;
};

/// Names of the results: as given; where none is, those of as many inputs, or of inputs that are
/// handed on.
std::vector<std::string> names_of(const ElementSpec& input, const Symbolics& outputs) {
  std::vector<std::string> names;
  bool given = false;
  for (const Symbolics::Named& each : outputs) {
    names.push_back(each.name);
    given = given || !each.name.empty();
  }
  if (!given && outputs.size() == input.components.size()) return input.names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Operand operand = outputs[i].operand();
    const auto at = static_cast<std::size_t>(operand.index);
    if (names[i].empty() && !operand.is_constant && at < input.names.size()) {
      names[i] = input.names[at];
    }
  }
  if (std::ranges::all_of(names, [](const std::string& name) { return name.empty(); })) return {};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = std::to_string(i);
    if (!seen.insert(names[i]).second) {
      throw InvalidArgument(
          fmt::format("[map] two components of the result are called \"{}\"", names[i]));
    }
  }
  return names;
}

}  // namespace

Program ProgramBuilder::finish(const Symbolics& outputs) const {
  if (outputs.size() == 0) throw InvalidArgument("[map] the function gives no component");
  for (const Symbolics::Named& each : outputs) {
    if (each.value.recorder() != recorder_) {
      throw InvalidArgument(fmt::format(
          "[map] {} belongs to another program; values cannot be kept from one trace to the next",
          each.value.describe()));
    }
  }
  Pruned pruned(*recorder_, outputs);
  ElementSpec output;
  output.names = names_of(recorder_->input, outputs);
  std::vector<Operand> results;
  for (const Symbolics::Named& each : outputs) {
    output.components.push_back(each.value.spec());
    results.push_back(pruned.renumbered(each.value.operand()));
  }
  return Program(std::make_shared<Program::Parts>(
      recorder_->input, std::move(output), std::move(pruned.constants),
      std::move(pruned.instructions), std::move(results)));
}

Program Program::then(const Program& next) const {
  const ElementSpec& given = output_spec();
  const ElementSpec& wanted = next.input_spec();
  bool fits = given.components.size() == wanted.components.size();
  for (std::size_t i = 0; fits && i < given.components.size(); ++i) {
    fits = wanted.components[i].admits(given.components[i]);
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("[Program::then] the next program takes {}, and this gives {}",
                    wanted.to_string(), given.to_string()));
  }
  const auto recorder = std::make_shared<Symbolic::Recorder>(input_spec());
  std::vector<Operand> components;
  for (int i = 0; i < static_cast<int>(input_spec().components.size()); ++i) {
    components.push_back({.index = i});
  }
  for (const Program* const part : {this, &next}) {
    std::vector<Operand> values = components;
    const auto found = [&](const Operand& operand) {
      if (!operand.is_constant) return values[static_cast<std::size_t>(operand.index)];
      return recorder->add(part->constants()[static_cast<std::size_t>(operand.index)]);
    };
    for (const Instruction& each : part->instructions()) {
      std::vector<Operand> operands;
      for (const Operand& input : each.inputs) operands.push_back(found(input));
      for (const Operand& result : recorder->call(each.op, operands, each.attributes)) {
        values.push_back(result);
      }
    }
    components.clear();
    for (const Operand& output : part->outputs()) components.push_back(found(output));
  }
  Symbolics outputs;
  ElementSpec output = next.output_spec();
  for (const Operand& each : components) outputs.push_back(Symbolic(recorder, each));
  Pruned pruned(*recorder, outputs);
  output.components.clear();
  std::vector<Operand> results;
  for (const Operand& each : components) {
    output.components.push_back(recorder->spec_of(each));
    results.push_back(pruned.renumbered(each));
  }
  return Program(std::make_shared<Parts>(input_spec(), std::move(output),
                                         std::move(pruned.constants),
                                         std::move(pruned.instructions), std::move(results)));
}

}  // namespace plimsoll::data
