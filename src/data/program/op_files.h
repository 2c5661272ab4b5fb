#pragma once

#include <span>

#include "data/program/op.h"

namespace plimsoll::data {

/// The function of each file in src/data/program/ops. Written by the build, which finds the files.
std::span<std::span<const ProgramOp> (*const)()> program_op_files();

}  // namespace plimsoll::data
