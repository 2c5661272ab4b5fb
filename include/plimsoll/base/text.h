#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// How numbers and lines are written for people. Sizes are in bytes.h. Nothing here depends on the
// locale, and none of it is meant to be parsed: programs read JSON.

namespace plimsoll {

/// "3.21 us", "1.27 ms", "12.7 s": three significant digits and a unit; "2 min 05 s", "3 h 20 min",
/// "4 d 6 h" from a minute on. "unknown" if it is not finite.
std::string format_duration(double seconds);

/// "1,797"; negative numbers too.
std::string format_count(std::int64_t count);

/// "7,006 images/s", "12.5 images/s", "0.42 images/s". "unknown" if it is not finite.
std::string format_rate(double per_second, std::string_view unit);

/// A number with what it counts: "1 step", "1,797 steps". `many` is the plural where it is not
/// `one` and an s: counted(2, "batch", "batches").
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});

/// `text` in lines of at most `width` columns, broken at spaces; all but the first begin with
/// `indent` spaces. A word that is longer than a line gets a line of its own. Columns are bytes.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = 80);

}  // namespace plimsoll
