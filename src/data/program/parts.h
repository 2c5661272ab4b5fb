#pragma once

#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/program.h>

namespace plimsoll::data {

class Executor;

/// What a program is made of, and what runs it.
struct Program::Parts {
  Parts(ElementSpec takes, ElementSpec gives, std::vector<ProgramConstant> fixed,
        std::vector<Instruction> steps, std::vector<Operand> results);
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts();

  const ElementSpec input;
  const ElementSpec output;
  const std::vector<ProgramConstant> constants;
  const std::vector<Instruction> instructions;
  const std::vector<Operand> outputs;
  std::unique_ptr<const Executor> executor;
};

/// "%2", or the constant itself.
std::string text_of(const Operand& operand, const std::vector<ProgramConstant>& constants);
/// "%4 = resize(%3, height=224, width=224)", without what it gives.
std::string text_of(const Instruction& instruction, const std::vector<ProgramConstant>& constants);

}  // namespace plimsoll::data
