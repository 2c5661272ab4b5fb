#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What the command says to arguments it does not understand. Checks return what is wrong, or
// nothing: the option's name is put before it.

namespace plimsoll::tools {

/// The name that `word` was probably meant to be; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean 'model'?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& names);

/// A check that a text is one of `names`.
struct OneOf {
  std::vector<std::string> names;
  std::string operator()(const std::string& text) const;
};

/// Checks for numbers. What is no number at all is found here, too: a variable of a shell that is
/// empty, "nan", "1e3" where a whole number is wanted.
std::string is_positive(const std::string& text);
std::string is_not_negative(const std::string& text);
std::string is_decay(const std::string& text);          ///< from 0 to below 1
std::string is_count(const std::string& text);          ///< a whole number from 1 on
std::string is_count_or_zero(const std::string& text);  ///< from 0 on
std::string is_skip_count(const std::string& text);     ///< from 0 on, or -1 for any number

/// Refuses a number of pipeline threads that only cost memory here. InvalidArgument.
void check_threads(std::int64_t threads);

/// InvalidArgument, naming `option`, if a command is to write over what it reads. An empty output
/// is none.
void require_other_file(const char* option, const std::string& output, const std::string& input);

/// Not empty: a variable of a shell that is, say, is not an option that was left out.
std::string is_path(const std::string& text);

std::string is_port(const std::string& text);  ///< from 0 to 65535

/// "10s", "500ms", "2m"; a bare number is seconds. InvalidArgument, naming `option`.
std::chrono::milliseconds read_time(const std::string& text, const char* option);

}  // namespace plimsoll::tools
