#pragma once

#include <string>

namespace plimsoll::data {

class Node;

/// A warning where a set that is shuffled anew in each epoch is taken apart by position; else
/// empty.
std::string warn_of_parts(const Node& node);

}  // namespace plimsoll::data
