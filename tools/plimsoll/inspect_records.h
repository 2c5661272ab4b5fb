#pragma once

#include "record_source.h"

namespace plimsoll::tools {

/// Reads every record, prints counts, features and sizes, and names the bad ones by file and
/// offset; ends with exit code 2 if there are any. `quick` reads indexes only.
void inspect_records(const RecordSource& source, bool quick, bool json);

}  // namespace plimsoll::tools
