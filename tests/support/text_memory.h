#pragma once

#include <cstdint>
#include <string_view>

#include <plimsoll/nn/model.h>

namespace plimsoll::testing {

/// About 1,700 letters.
std::string_view page_of_text();

/// Trains a language model over bytes, eagerly, on all of `text` at every step, in pieces of
/// `context` bytes, and gives the share of next bytes that it then says right.
double memorise(const nn::Model& model, std::string_view text, std::int64_t context, int steps,
                double rate);

}  // namespace plimsoll::testing
