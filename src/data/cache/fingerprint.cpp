#include "data/cache/fingerprint.h"

#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/identity.h"

namespace plimsoll::data {
namespace {

constexpr int kVersion = 1;

std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ seed;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return mix_ids(hash, bytes.size());
}

std::uint64_t content_of(const Node& node) {
  std::uint64_t result = node.content();
  for (const NodePtr& input : node.inputs()) result = mix_ids(result, content_of(*input));
  return result;
}

/// The names that functions have where nobody gave them one.
constexpr std::array<std::string_view, 10> kNameless = {"map(function)",
                                                        "map(function,",
                                                        "filter(predicate)",
                                                        "flat_map(function)",
                                                        "interleave(function,",
                                                        "scan(function,",
                                                        "take_while(predicate)",
                                                        "group_by_window(function,",
                                                        "from_generator(generator",
                                                        "from_indexable(indexable"};

}  // namespace

bool draws_upstream(const Node& node) {
  if (node.draws()) return true;
  for (const NodePtr& input : node.inputs()) {
    if (draws_upstream(*input)) return true;
  }
  return false;
}

Fingerprint fingerprint_of(const Node& input, std::uint64_t seed, Bytes segment) {
  Fingerprint result;
  input.write_signature(result.text, 0);
  std::string whole = fmt::format("cache {}, segments of {}, contents {:x}\n{}", kVersion, segment,
                                  content_of(input), result.text);
  if (draws_upstream(input)) whole += fmt::format("seed {:x}\n", seed);
  const std::vector<std::uint64_t> identity = identity_of(input);
  // The first word is the time now.
  for (std::size_t i = 1; i < identity.size(); ++i) whole += fmt::format("{:x}\n", identity[i]);
  result.name = fmt::format("{:016x}{:016x}", hash_of(whole, 1), hash_of(whole, 2));
  return result;
}

void require_fingerprint(const Node& input) {
  if (!input.can_be_saved()) {
    throw InvalidArgument(fmt::format(
        "[cache] {} gives its elements in no fixed order, so that they cannot be kept on disk",
        input.title()));
  }
  std::string own;
  input.write_signature(own, 0);
  for (const std::string_view nameless : kNameless) {
    if (!own.starts_with(nameless)) continue;
    throw InvalidArgument(
        fmt::format("[cache] the function of {} has no name, by which a later run could tell that "
                    "it has changed; give it a name with a version",
                    input.kind()));
  }
  for (const NodePtr& each : input.inputs()) require_fingerprint(*each);
}

}  // namespace plimsoll::data
