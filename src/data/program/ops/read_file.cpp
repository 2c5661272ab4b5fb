// The contents of a file.
#include "data/program/op.h"

namespace plimsoll::data::program_ops {

std::span<const ProgramOp> read_file() {
  static constexpr ProgramOp kOps[] = {
      {.name = "read_file",
       .summary = "the contents of the file at a path",
       .specs =
           [](const SpecInputs& inputs) {
             inputs.require_one_text(0);
             return std::vector<TensorSpec>{TensorSpec::scalar(DType::bytes)};
           },
       .run =
           [](ProgramCall& call) {
             const FileBytes file = call.context().read_file(call.input(0).text());
             call.give(call.context().text(
                 {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}));
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
