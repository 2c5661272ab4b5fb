#include <plimsoll/base/owned.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll {

void throw_moved_from(const char* type) {
  throw InvalidArgument(fmt::format("[{0}] this {0} is empty: it was moved from", type));
}

}  // namespace plimsoll
