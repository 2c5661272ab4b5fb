#include <algorithm>
#include <iterator>

#include "data/program/op.h"
#include "data/program/op_files.h"

namespace plimsoll::data {

std::span<const ProgramOp* const> all_program_ops() {
  static const std::vector<const ProgramOp*> all = [] {
    std::vector<const ProgramOp*> found;
    for (const auto file : program_op_files()) {
      for (const ProgramOp& op : file()) found.push_back(&op);
    }
    std::ranges::sort(found, {}, &ProgramOp::name);
    return found;
  }();
  return all;
}

const ProgramOp* find_program_op(std::string_view name) {
  const auto all = all_program_ops();
  const auto found = std::ranges::lower_bound(all, name, {}, &ProgramOp::name);
  return found != all.end() && (*found)->name == name ? *found : nullptr;
}

std::vector<std::string> program_op_names() {
  std::vector<std::string> names;
  for (const ProgramOp* const op : all_program_ops()) names.emplace_back(op->name);
  return names;
}

}  // namespace plimsoll::data
