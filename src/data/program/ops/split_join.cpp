// One byte string to several, and back.
#include "data/program/texts.h"

namespace plimsoll::data::program_ops {
namespace {

void split(ProgramCall& call) {
  const std::string& separator = call.attributes().text("separator");
  std::string_view rest = call.input(0).text();
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = rest.find(separator);
    parts.push_back(rest.substr(0, at));
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + separator.size());
  }
  call.give(Value(call.context().texts(parts, {static_cast<std::int64_t>(parts.size())})));
}

void join(ProgramCall& call) {
  const std::string& separator = call.attributes().text("separator");
  std::string all;
  for (std::int64_t i = 0; i < call.input(0).elements(); ++i) {
    if (i > 0) all += separator;
    all += call.input(0).text(i);
  }
  call.give(call.context().text(all));
}

}  // namespace

std::span<const ProgramOp> split_join() {
  static constexpr ProgramOp kOps[] = {
      {.name = "split_text",
       .summary = "the parts of a string between separators",
       .specs =
           [](const SpecInputs& inputs) {
             inputs.require_one_text(0);
             if (inputs.attributes().text("separator").empty()) {
               inputs.fail("the separator is empty");
             }
             return std::vector<TensorSpec>{{DType::bytes, std::vector<std::int64_t>{kAnyExtent}}};
           },
       .run = split},
      {.name = "join",
       .summary = "strings one after the other, with a separator between them",
       .specs =
           [](const SpecInputs& inputs) {
             inputs.require_bytes(0);
             return std::vector<TensorSpec>{TensorSpec::scalar(DType::bytes)};
           },
       .run = join},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
