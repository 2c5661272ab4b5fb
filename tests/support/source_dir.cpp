#include "support/source_dir.h"

namespace plimsoll {

std::filesystem::path test_source_dir() { return PLIMSOLL_TEST_SOURCE_DIR; }

}  // namespace plimsoll
