#pragma once

#include <cstdint>
#include <string>

#include "data/engine/node.h"

namespace plimsoll::data {

/// What tells the stream of one pipeline from that of another.
struct Fingerprint {
  std::string name;  ///< 32 hexadecimal digits
  std::string text;  ///< what it was made of, for people
};

/// True if what `node` gives depends on the seed or the epoch.
bool draws_upstream(const Node& node);

/// Of everything that decides what `input` gives: its signature, the names, sizes and times of the
/// data, contents that are part of the description, and, where something is drawn at random, `seed`
/// (which stands for the seed, the epoch and the place in the pipeline).
Fingerprint fingerprint_of(const Node& input, std::uint64_t seed, Bytes segment);

/// Throws InvalidArgument where a later run could not tell that the pipeline has changed: a
/// function without a name, or results in no fixed order.
void require_fingerprint(const Node& input);

}  // namespace plimsoll::data
