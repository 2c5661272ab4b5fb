// lower, upper, strip, substr, replace: a byte string for each byte string.
#include <algorithm>

#include "data/program/texts.h"

namespace plimsoll::data::program_ops {
namespace {

std::string_view lower(std::string_view text, std::string& kept) {
  kept = text;
  for (char& c : kept) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return kept;
}

std::string_view upper(std::string_view text, std::string& kept) {
  kept = text;
  for (char& c : kept) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return kept;
}

std::string_view strip(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\r\v\f";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view substr(std::string_view text, std::int64_t begin, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (begin < 0) begin = std::max<std::int64_t>(0, begin + size);
  begin = std::min(begin, size);
  return text.substr(static_cast<std::size_t>(begin),
                     static_cast<std::size_t>(std::min(count, size - begin)));
}

std::string_view replaced(std::string_view text, const std::string& part, const std::string& with,
                          std::string& kept) {
  std::size_t at = 0;
  for (auto found = text.find(part); found != std::string_view::npos; found = text.find(part, at)) {
    kept.append(text, at, found - at).append(with);
    at = found + part.size();
  }
  return kept.append(text, at);
}

}  // namespace

std::span<const ProgramOp> text_change() {
  static constexpr ProgramOp kOps[] = {
      {.name = "lower",
       .summary = "ASCII letters in lower case",
       .specs = same_texts,
       .run = [](ProgramCall& call) { each_text(call, lower); }},
      {.name = "upper",
       .summary = "ASCII letters in upper case",
       .specs = same_texts,
       .run = [](ProgramCall& call) { each_text(call, upper); }},
      {.name = "strip",
       .summary = "without blanks at the ends",
       .specs = same_texts,
       .run =
           [](ProgramCall& call) {
             each_text(call, [](std::string_view text, std::string&) { return strip(text); });
           }},
      {.name = "substr",
       .summary = "some bytes of a string",
       .specs =
           [](const SpecInputs& inputs) {
             if (inputs.attributes().integer("count") < 0) inputs.fail("count is below 0");
             return same_texts(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const std::int64_t begin = call.attributes().integer("begin");
             const std::int64_t count = call.attributes().integer("count");
             each_text(call, [=](std::string_view text, std::string&) {
               return substr(text, begin, count);
             });
           }},
      {.name = "replace",
       .summary = "every occurrence of a part replaced",
       .specs =
           [](const SpecInputs& inputs) {
             if (inputs.attributes().text("part").empty()) inputs.fail("the part is empty");
             return same_texts(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const std::string& part = call.attributes().text("part");
             const std::string& with = call.attributes().text("with");
             each_text(call, [&](std::string_view text, std::string& kept) {
               return replaced(text, part, with, kept);
             });
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
