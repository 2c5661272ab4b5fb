// length, contains, starts_with, ends_with, equals: a number for each byte string.
#include "data/program/texts.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> bools(const SpecInputs& inputs) {
  return shaped_like_texts(inputs, DType::boolean);
}

template <bool (*Test)(std::string_view text, std::string_view part)>
void run_test(ProgramCall& call) {
  const std::string& part = call.attributes().text("part");
  each_number<bool>(call, [&part](std::string_view text) { return Test(text, part); });
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool starts_with(std::string_view text, std::string_view part) { return text.starts_with(part); }
bool ends_with(std::string_view text, std::string_view part) { return text.ends_with(part); }
bool equals(std::string_view text, std::string_view part) { return text == part; }

}  // namespace

std::span<const ProgramOp> text_test() {
  static constexpr ProgramOp kOps[] = {
      {.name = "length",
       .summary = "bytes of a string",
       .specs = [](const SpecInputs& inputs) { return shaped_like_texts(inputs, DType::i64); },
       .run =
           [](ProgramCall& call) {
             each_number<std::int64_t>(call, [](std::string_view text) { return text.size(); });
           }},
      {.name = "contains",
       .summary = "whether a string has a part",
       .specs = bools,
       .run = run_test<contains>},
      {.name = "starts_with",
       .summary = "whether a string begins with a part",
       .specs = bools,
       .run = run_test<starts_with>},
      {.name = "ends_with",
       .summary = "whether a string ends with a part",
       .specs = bools,
       .run = run_test<ends_with>},
      {.name = "equals",
       .summary = "whether a string is another",
       .specs = bools,
       .run = run_test<equals>},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
