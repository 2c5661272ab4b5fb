#pragma once

#include <string>

#include "training_data.h"

namespace plimsoll::tools {

/// Bytes are the tokens of a text.
inline constexpr std::int64_t kTextTokens = 256;

/// Whether `--data` names a file of text: *.txt or *.text.
bool is_text_file(const std::string& path);

/// A text cut into pieces as long as the model reads, each with the bytes that follow its bytes;
/// the last tenth is for validation. Read piece by piece. Throws InvalidArgument for a model that
/// reads no tokens or knows fewer than 256, and for a text that is too short.
TrainingData text_data(const std::string& path, const nn::Model& model, std::int64_t classes,
                       const TrainingDataOptions& options);

}  // namespace plimsoll::tools
