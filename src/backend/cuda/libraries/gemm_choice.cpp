#include "backend/cuda/libraries/gemm_choice.h"

#include <charconv>

#include <fmt/format.h>

namespace plimsoll::cuda {
namespace {

constexpr std::string_view kBiasField = " bias=";
constexpr std::string_view kWorkspaceField = " workspace=";
constexpr std::string_view kAlgorithmField = " algorithm=";
constexpr std::size_t kWordDigits = 16;

template <typename T>
bool read_number(std::string_view text, int base, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string to_text(const GemmChoice& choice) {
  std::string text = fmt::format("{}{}{:d}{}{}{}", choice.library, kBiasField, choice.fused_bias,
                                 kWorkspaceField, choice.workspace, kAlgorithmField);
  for (const std::uint64_t word : choice.algorithm) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<GemmChoice> parse_gemm_choice(std::string_view text) {
  const std::size_t bias = text.find(kBiasField);
  const std::size_t workspace = text.find(kWorkspaceField);
  const std::size_t algorithm = text.find(kAlgorithmField);
  if (bias == text.npos || workspace == text.npos || algorithm == text.npos) return std::nullopt;
  GemmChoice choice{.library = std::string(text.substr(0, bias))};
  const auto field = [&](std::size_t at, std::string_view name, std::size_t end) {
    at += name.size();
    return at < end ? text.substr(at, end - at) : std::string_view();
  };
  int fused = 0;
  if (!read_number(field(bias, kBiasField, workspace), 10, fused) ||
      !read_number(field(workspace, kWorkspaceField, algorithm), 10, choice.workspace)) {
    return std::nullopt;
  }
  choice.fused_bias = fused != 0;
  const std::string_view words = field(algorithm, kAlgorithmField, text.size());
  if (words.size() != choice.algorithm.size() * kWordDigits) return std::nullopt;
  for (std::size_t i = 0; i < choice.algorithm.size(); ++i) {
    if (!read_number(words.substr(i * kWordDigits, kWordDigits), 16, choice.algorithm[i])) {
      return std::nullopt;
    }
  }
  // What was written differently, "bias=7" say, is not ours.
  if (to_text(choice) != text) return std::nullopt;
  return choice;
}

}  // namespace plimsoll::cuda
