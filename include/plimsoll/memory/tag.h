#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll {

/// What memory is for. Every byte carries one tag and a label (an op, a stage, a caller).
enum class Tag : std::uint8_t {
  parameters,
  gradients,
  optimizer,
  activations,
  workspace,
  input,
  decode,
  shuffle,
  cache,
  prefetch,
  staging,
  runtime,
  user,
};

inline constexpr std::array kTagNames = {
    std::string_view{"parameters"},  std::string_view{"gradients"}, std::string_view{"optimizer"},
    std::string_view{"activations"}, std::string_view{"workspace"}, std::string_view{"input"},
    std::string_view{"decode"},      std::string_view{"shuffle"},   std::string_view{"cache"},
    std::string_view{"prefetch"},    std::string_view{"staging"},   std::string_view{"runtime"},
    std::string_view{"user"}};

inline constexpr std::size_t kTagCount = kTagNames.size();

constexpr std::string_view tag_name(Tag tag) { return kTagNames[static_cast<std::size_t>(tag)]; }

}  // namespace plimsoll
