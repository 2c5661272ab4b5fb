#pragma once

#include <string_view>

#include <plimsoll/data/records.h>

namespace plimsoll::data {

/// A scalar feature (i64, i32, f32, f64, bool) written as text, with white space around it allowed.
/// Throws DataError naming the feature and the text.
Value number_from_text(const Feature& feature, std::string_view text);

}  // namespace plimsoll::data
