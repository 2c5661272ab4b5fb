#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/base/shape.h>

// What published weights have otherwise than a module that fits them.

namespace plimsoll::nn {

/// True for tensors that published files have and no module needs: PyTorch's counts of batches in
/// normalisation layers, and tables that Hugging Face's models store (causal masks, positions,
/// frequencies of rotary embeddings).
bool is_left_out(std::string_view name, const Shape& shape);

/// The word in front of a module's names that a file lacks: Hugging Face's `GPT2Model` saves
/// "wte.weight" where `GPT2LMHeadModel` saves "transformer.wte.weight". One of "transformer.",
/// "model." and "bert.", if all names of the module that begin with it are in the file without it,
/// and none of them with it; else empty. `has` says whether the file has a name.
std::string_view lacking_prefix(std::span<const std::string> names,
                                const std::function<bool(const std::string& name)>& has);

}  // namespace plimsoll::nn
